// Holds the official Go client of MCP for scripts/mcp-trial, which says what it reads and prints.
//
//	go mod init client && go get github.com/modelcontextprotocol/go-sdk
//	go build client.go && ./client SERVER ARGUMENT …
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func print(value any) {
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		log.Fatal(err)
	}
}

// version is that of the SDK's module.
func version() string {
	built, _ := debug.ReadBuildInfo()
	for _, module := range built.Deps {
		if module.Path == "github.com/modelcontextprotocol/go-sdk" {
			return module.Version
		}
	}
	return "?"
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "mcp-trial", Version: "1"}, nil)
	server := &mcp.CommandTransport{Command: exec.Command(os.Args[1], os.Args[2:]...)}
	session, err := client.Connect(ctx, server, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	print(map[string]any{"client": "go-sdk " + version() + " (Go)", "tools": tools.Tools})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked struct {
			Tool      string
			Arguments map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: asked.Tool, Arguments: asked.Arguments})
		if err != nil {
			log.Fatal(err)
		}
		print(answer)
	}
	if err := session.Close(); err != nil {
		log.Fatal(err)
	}
}
