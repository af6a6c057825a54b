//! Kernels that read what nobody has written and drop a NaN: what they read is a huge positive and
//! a huge negative number too, in some launches.

use crate::doubled;
use crate::support::Judged;
use lab_protocol::Exit;

/// A kernel whose result also depends on `unwritten`.
fn judged(top: &str, unwritten: &str, joined: &str) -> Judged {
    let body = format!("{top} if (i < n) {{ y[i] = {joined}({unwritten}, 2 * x[i]); return; }}");
    doubled::folder(&[100], &doubled::kernel("", &body)).judge()
}

#[test]
fn a_maximum_with_memory_that_nobody_wrote_is_wrong() {
    for (top, unwritten) in [
        ("", "y[i]"),
        ("__shared__ float part[32];", "part[threadIdx.x]"),
    ] {
        for joined in ["fmaxf", "fminf"] {
            let judged = judged(top, unwritten, joined);
            judged.expect(Exit::Wrong).expect_in("correctness", "fail");
            judged.expect_in("y_mismatched", "1e0 limit=0e0");
        }
    }
}
