//! What passes, what does not, and what each compiler gets.
#![allow(clippy::unwrap_used)]

use super::*;

fn parse(line: &str) -> Result<CompileOptions, RefusedOption> {
    let given: Vec<String> = line.split(' ').map(str::to_owned).collect();
    CompileOptions::parse(&given)
}

fn refused(options: &[&str]) -> RefusedOption {
    let given: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    CompileOptions::parse(&given).expect_err(&options.join(" "))
}

#[test]
fn each_device_gets_the_options_that_its_compiler_knows() {
    let options = parse(
        "-O3 -Ofast -g -DX -D Y=2 --define-macro=Z=3 -UW -Iinc -I inc2 --include-path=inc3 -isystem /opt/a -iquotec \
         -std=c++20 -march=native -mavx512f -mno-avx2 -ffast-math -fno-math-errno -ffp-contract=fast -funroll-loops \
         -Wall -Wno-unused-variable -Werror=shadow -w --use_fast_math -maxrregcount=64 -maxrregcount 32 -lineinfo \
         -Xptxas -O3 --ptxas-options=-v,-dlcm=cg -ftz=true --fmad=false -prec-div -arch=sm_90 -diag-suppress 177,550",
    )
    .unwrap();
    assert_eq!(
        options.for_host().join(" "),
        "-O3 -Ofast -g -DX -DY=2 -DZ=3 -UW -Iinc -Iinc2 -Iinc3 -isystem/opt/a -iquotec -march=native -mavx512f -mno-avx2 \
         -ffast-math -fno-math-errno -ffp-contract=fast -funroll-loops -Wall -Wno-unused-variable -Werror=shadow -w"
    );
    assert_eq!(
        options.for_nvrtc().join(" "),
        "-DX -DY=2 -DZ=3 -UW -Iinc -Iinc2 -Iinc3 -I/opt/a -Ic --std=c++20 -w --use_fast_math --maxrregcount=64 \
         --maxrregcount=32 --ptxas-options=-O3 --ptxas-options=-v,-dlcm=cg --ftz=true --fmad=false --prec-div=true \
         --diag-suppress=177,550"
    );
    assert_eq!(
        options.include_folders().collect::<Vec<_>>(),
        ["inc", "inc2", "inc3", "/opt/a", "c"]
    );
    assert_eq!(options.architecture(), Some("sm_90"));
    assert!(options.has_standard());
}

#[test]
fn an_option_that_starts_reads_or_writes_something_else_is_refused() {
    for option in [
        "@options",
        "-wrapper",
        "-include",
        "-includex.h",
        "-imacros",
        "--include=x",
        "--pre-include=x",
        "-M",
        "-MD",
        "-MF",
        "-MFx",
        "-MMD",
        "-dumpdir",
        "-dumpbase",
        "-dumpbase-ext",
        "-o",
        "-ox",
        "--output=x",
        "-B",
        "-B.",
        "-specs=x",
        "--specs=x",
        "-fplugin=x.so",
        "-fplugin-arg-x-y",
        "-Wl,-T,x",
        "-Wp,-MD,x",
        "-Wa,-I,x",
        "-Xlinker",
        "-Xclang",
        "-Xassembler",
        "-Xpreprocessor",
        "-mllvm",
        "-load",
        "-L.",
        "-lfoo",
        "-Tx",
        "-z",
        "--sysroot=x",
        "-isysroot",
        "-iprefix",
        "-nostdinc",
        "-save-temps",
        "-save-temps=obj",
        "-fdump-tree-all",
        "-fprofile-generate",
        "-fprofile-use=x",
        "-fauto-profile=x",
        "--coverage",
        "-ftest-coverage",
        "-fstack-usage",
        "-gsplit-dwarf",
        "-ftime-trace=x",
        "-fdevice-time-trace=x",
        "--time=x",
        "-time=x",
        "--options-file=x",
        "-optf",
        "--use-pch=x",
        "--create-pch=x",
        "--pch-dir=x",
        "-fuse-ld=x",
        "--ld-path=x",
        "-fmodule-mapper=x",
        "-fsanitize=address",
        "-fsanitize-blacklist=x",
        "-fsanitize-ignorelist=x",
        "-x",
        "-E",
        "-S",
        "-c",
        "-###",
        "-v",
        "-print-prog-name=x",
        "-flto",
        "-fopenmp",
        "-fdiagnostics-format=sarif-file",
        "-fdiagnostics-add-output=sarif:file=x",
        "-fopt-info-all=x",
        "-aux-info",
        "-fcallgraph-info",
        "-fdebug-prefix-map=a=b",
        "-ffile-prefix-map=a=b",
        "-frandom-seed=x",
        "-fxray-attr-list=x",
        "-fprofile-list=x",
        "-fsave-optimization-record=x",
        "-foptimization-record-file=x",
        "-fpass-plugin=x",
        "-fembed-offload-object=x",
        "--config=x",
        "--gcc-toolchain=x",
        "-resource-dir=x",
        "-ivfsoverlay",
        "-gencode",
        "-code=sm_90",
        "-ccbin",
        "--param=x=y",
        "kernel.cpp",
        "-",
        "/etc/passwd",
        "",
        "--",
        "-W",
        "-Wl",
        "-m",
        "-f",
        "-fno-",
        "-mfoo",
        "-ffoo",
        "-mabi=x",
        "-std=c89",
        "-std=",
        "-arch=native",
        "-arch=sm_90;x",
        "-Ofoo",
        "-maxrregcount=x",
        "-maxrregcount",
        "-Xptxas",
        "-Xptxas=--output-file=x",
        "-Xptxas=-v,@x",
        "-Xptxas=-o,x",
        "-march=",
        "-march=x/y",
        "-mprefer-vector-width=9",
        "-ffp-contract=@x",
    ] {
        let refused = refused(&["-O2", option]);
        assert_eq!((refused.index, refused.option.as_str()), (1, option));
        let said = refused.to_string();
        assert!(
            said.contains(&format!("{option:?}")) && said.contains(": "),
            "{said}"
        );
    }
}

#[test]
fn a_value_hides_no_other_option() {
    // A compiler reads a word with @ as the name of a file with options, wherever it stands.
    for options in [
        &["-D", "@options"][..],
        &["-I", "@options"],
        &["-isystem", "@options"],
        &["-Xptxas", "@options"],
        &["-maxrregcount", "@options"],
        &["-diag-suppress", "1,@x"],
        &["-D", "-wrapper"],
        &["-U", "-wrapper"],
        &["-D"],
        &["-D="],
        &["-DX\n#include \"/etc/passwd\""],
        &["-DX=1\n#include \"/etc/passwd\""],
        &["-D", "X=\u{0}"],
        &["-DA B=1"],
        &["-I"],
        &["-I", ""],
        &["-I-"],
        &["-I=/etc"],
        &["-I$SYSROOT/etc"],
        &["-O3\n"],
        &["-Wall\r"],
    ] {
        refused(options);
    }
    let options = parse("-I -wrapper -D X=@y").unwrap();
    assert_eq!(options.for_host(), ["-I-wrapper", "-DX=@y"]);
    assert!(
        options
            .for_host()
            .iter()
            .chain(options.for_nvrtc())
            .all(|word| word.starts_with('-'))
    );
}

#[test]
fn a_refusal_says_what_to_do() {
    for (option, wanted) in [
        ("@o", "write them into this list"),
        ("-include", "write #include into the kernel"),
        ("-gencode", "arch = \"sm_90\" under [compile]"),
        ("-arch=compute_90", "arch = \"sm_90\" under [compile]"),
        ("-O3 -DX", "each option as a string of its own"),
        ("-fsanitize=address", "`lab check`"),
        ("-wrapper", "starts other programs"),
        ("-MFx", "further files"),
        ("--fobar", "`lab help configuration`"),
        ("-ftz=maybe", "true or false"),
    ] {
        let said = refused(&[option]).to_string();
        assert!(said.contains(wanted), "{said}");
    }
    assert!(
        refused(&["-arch=sm_90", "-arch=sm_80"])
            .to_string()
            .contains("two architectures")
    );
}

#[test]
fn options_travel_as_they_were_given_and_are_checked_again() {
    let options = parse("-O3 -D X --use_fast_math").unwrap();
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(text, r#"["-O3","-D","X","--use_fast_math"]"#);
    assert_eq!(
        serde_json::from_str::<CompileOptions>(&text).unwrap(),
        options
    );
    let wrong = serde_json::from_str::<CompileOptions>(r#"["-wrapper"]"#)
        .unwrap_err()
        .to_string();
    assert!(wrong.contains("\"-wrapper\" is not allowed"), "{wrong}");
}
