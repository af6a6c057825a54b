//! The modules of a crate, and which module uses which.

use crate::imports::imports;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path below the crate's root. The root's path is empty.
type Module = Vec<String>;

#[derive(Default)]
pub struct Graph {
    /// The file of each module, below `src`.
    files: BTreeMap<Module, String>,
    /// The modules that each module uses, without itself.
    uses: BTreeMap<Module, BTreeSet<Module>>,
}

impl Graph {
    /// Reads every file below a crate's `src`.
    pub fn read(src: &Path) -> Graph {
        let mut sources = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut tests = BTreeSet::new();
        let mut test_files = BTreeSet::new();
        walk(src, &mut |path| {
            let name = path.strip_prefix(src).unwrap().to_str().unwrap().to_owned();
            let mut module: Module = name
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            let is_root = module.last().is_some_and(|last| last == "mod");
            if is_root || name == "lib.rs" {
                module.pop();
            }
            if name == "main.rs" {
                return;
            }
            let tokens = fs::read_to_string(path).unwrap().parse();
            let found =
                imports(tokens.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
            tests.extend(
                found
                    .test_modules
                    .iter()
                    .map(|name| [&module[..], std::slice::from_ref(name)].concat()),
            );
            let folder = name
                .rsplit_once('/')
                .map_or(String::new(), |(folder, _)| format!("{folder}/"));
            test_files.extend(
                found
                    .test_files
                    .iter()
                    .map(|file| format!("{folder}{file}")),
            );
            files.insert(module.clone(), name);
            sources.insert(module, found.paths);
        });
        tests.extend(
            files
                .iter()
                .filter(|(_, file)| test_files.contains(*file))
                .map(|(module, _)| module.clone()),
        );
        let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
        files.retain(|module, _| !is_test(module));
        sources.retain(|module, _| !is_test(module));
        let mut graph = Graph {
            files,
            uses: BTreeMap::new(),
        };
        for (module, paths) in sources {
            let used = paths
                .iter()
                .filter_map(|path| graph.resolve(&module, path))
                .filter(|used| *used != module);
            let used = used.collect();
            graph.uses.insert(module, used);
        }
        graph
    }

    pub fn modules(&self) -> usize {
        self.files.len()
    }

    /// The module with the item that `path`, named in `module`, leads to.
    fn resolve(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut rest = path;
        while let Some((first, further)) = rest.split_first() {
            match first.as_str() {
                "crate" => base.clear(),
                // In an inline module, `super` is the file itself. The path then goes one step too
                // far up, which the root stops.
                "super" => drop(base.pop()),
                "self" => {}
                _ => break,
            }
            rest = further;
        }
        base.extend(rest.iter().cloned());
        while !self.files.contains_key(&base) {
            base.pop()?;
        }
        Some(base)
    }
}

/// Calls `each` for every Rust file below a folder.
pub fn walk(folder: &Path, each: &mut impl FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path);
        }
    }
}

/// Each violation of the two rules, one line each.
pub fn circles(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (module, used) in &graph.uses {
        for ancestor in used
            .iter()
            .filter(|used| module.starts_with(used) && module.len() > used.len() + 1)
        {
            let (file, of) = (&graph.files[module], &graph.files[ancestor]);
            found.push(format!(
                "{file} uses items of {of}, which is not its parent"
            ));
        }
    }
    for parent in graph.files.keys() {
        found.extend(circle_below(graph, parent));
    }
    found
}

/// A cycle among the children of one module, if there is one: each step with a file that has the
/// import.
fn circle_below(graph: &Graph, parent: &Module) -> Option<String> {
    // The siblings that a child uses, and the file with the import.
    let mut edges: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    let child = |module: &'_ Module| {
        (module.starts_with(parent) && module.len() > parent.len()).then_some(parent.len())
    };
    for (module, used) in &graph.uses {
        let Some(depth) = child(module) else { continue };
        for other in used
            .iter()
            .filter(|other| child(other).is_some() && other[depth] != module[depth])
        {
            edges
                .entry(&module[depth])
                .or_default()
                .entry(&other[depth])
                .or_insert(&graph.files[module]);
        }
    }
    let mut done = BTreeSet::new();
    edges
        .keys()
        .find_map(|start| visit(start, &edges, &mut Vec::new(), &mut done))
}

/// Follows the edges depth first. Returns the first path that comes back to itself.
fn visit<'a>(
    at: &'a str,
    edges: &BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    path: &mut Vec<(&'a str, &'a str)>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(start) = path.iter().position(|(module, _)| *module == at) {
        let steps = path[start..]
            .iter()
            .map(|(module, file)| (*module, *file))
            .collect::<Vec<_>>();
        let targets = steps.iter().skip(1).map(|(module, _)| *module).chain([at]);
        let arrows = targets
            .zip(&steps)
            .map(|(to, (_, file))| format!(" → {to} ({file})"));
        return Some(format!("{at}{}", arrows.collect::<String>()));
    }
    if done.contains(at) {
        return None;
    }
    for (to, file) in edges.get(at).into_iter().flatten() {
        path.push((at, file));
        let found = visit(to, edges, path, done);
        path.pop();
        if found.is_some() {
            return found;
        }
    }
    done.insert(at);
    None
}
