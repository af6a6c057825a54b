//! Why an option does not pass, and what to do instead.

/// Beginnings of options, with what these options do and what to write instead. The first that fits
/// counts.
const FAMILIES: &[(&str, &str)] = &[
    (
        "@ --options-file -optf",
        "it reads options from a file: write them into this list",
    ),
    (
        "\
            -include -imacros --include --imacros --pre-include -iprefix -iwithprefix -isysroot \
            --sysroot -imultilib -nostdinc -iplugindir",
        "it makes the compiler read other files: write #include into the kernel, and name its folder with -I",
    ),
    (
        "\
            -wrapper -B -specs --specs -fplugin -fuse-ld --ld-path -no-canonical-prefixes \
            -Xclang -mllvm -fpass-plugin -load -ccbin --compiler-bindir -cc1 -Wa, -Wp, \
            -Xassembler -Xpreprocessor -Xcompiler -fno-integrated-as --gcc-toolchain --config \
            -fmodule-mapper -fmodules -pass-exit-codes",
        "it starts other programs, or gives options to them: remove it",
    ),
    (
        "\
            -Wl, -Xlinker -l -L -T -z -shared -static -nostdlib -nodefaultlibs -nostartfiles \
            -rdynamic -Xnvlink -rdc --relocatable-device-code -dc -dw --device-c --device-w \
            -dlto --dlink-time-opt -flto -fopenmp -pthread -pie",
        "it changes how the kernel is linked, which the lab decides: remove it",
    ),
    (
        "\
            -o --output -M -dump -d -save-temps --save-temps -fdump -fsave -ftime-trace \
            -fdevice-time-trace --fdevice-time-trace -time --time -gsplit-dwarf -fprofile \
            -fauto-profile -fcallgraph -fstack-usage -ftest-coverage -coverage --coverage \
            -fopt-info -fdiagnostics -aux-info -create-pch --create-pch --use-pch -use-pch --pch \
            -pch -keep --keep --optix-ir -ptx",
        "it reads or writes further files: remove it",
    ),
    (
        "-gencode --generate-code -code --gpu-code -m32 -m64 -target --target",
        "the lab builds for one architecture: write arch = \"sm_90\" under [compile]",
    ),
    (
        "-E -S -c -x --version -v -### -print --help --print",
        "the lab decides what is built: remove it",
    ),
    (
        "-fsanitize",
        "it needs a runtime that the lab loads itself: remove it, and run `lab check`",
    ),
];

/// Why this option is not on the list, and what to do.
pub fn reason(option: &str) -> String {
    if option.is_empty() {
        return "it is empty: remove it".into();
    }
    let family = FAMILIES
        .iter()
        .find(|(starts, _)| starts.split(' ').any(|start| option.starts_with(start)));
    if let Some((_, why)) = family {
        return (*why).to_owned();
    }
    if option.trim().contains(char::is_whitespace) {
        return "it holds a blank: write each option as a string of its own, as in [\"-O3\", \"-DTILE=32\"]"
            .into();
    }
    if !option.starts_with('-') {
        return "it is a file or a word, and only options may stand here: remove it".into();
    }
    "it is none of the options that the lab passes on (`lab help configuration` lists them): remove it, or write what it does \
     into the kernel"
        .into()
}
