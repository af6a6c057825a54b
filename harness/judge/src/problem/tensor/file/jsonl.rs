//! A file with a workload in each line, as flashinfer-bench publishes them: a JSON object with the
//! extents as `axes`, and where each of the `inputs` comes from.

use super::super::beside;
use super::super::drawn_shapes::Extents;
use super::super::number::NumberText;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What a line says of its workload.
#[derive(Debug, Default)]
pub struct WorkloadLine {
    pub axes: Extents,
    pub scalars: BTreeMap<String, NumberText>,
    /// Inputs that are drawn.
    random: Vec<String>,
    /// Inputs in a safetensors file.
    pub stored: Vec<String>,
}

impl WorkloadLine {
    /// The names of the inputs, and whether each is a scalar.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, bool)> {
        let tensors = self.random.iter().chain(&self.stored);
        let tensors = tensors.map(|name| (name.as_str(), false));
        tensors.chain(self.scalars.keys().map(|name| (name.as_str(), true)))
    }
}

/// A line. Keys that say something else of a workload are left out.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a workload has axes and inputs, as in {\"axes\": {\"n\": 8}, \"inputs\": {}}"
)]
enum LineText {
    /// As a trace with nothing but its workload.
    Trace {
        workload: WorkloadKeys,
    },
    Workload(WorkloadKeys),
}

#[derive(Deserialize)]
struct WorkloadKeys {
    axes: Extents,
    #[serde(default)]
    inputs: BTreeMap<String, InputText>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum InputText {
    Random,
    Scalar { value: ScalarValue },
    Safetensors {},
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ScalarValue {
    Bool(bool),
    Integer(i64),
    Float(f64),
}

/// Reads the file `name` below the problem's folder: each workload with the number of its line.
pub fn read(folder: &Path, name: &str) -> Result<Vec<(usize, WorkloadLine)>, String> {
    let how = "write a workload in each line, as in {\"axes\": {\"n\": 8}}";
    let bytes = beside::read(folder, name, how)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty());
    let read = lines.map(|(line, number)| match serde_json::from_str(line) {
        Ok(LineText::Trace { workload } | LineText::Workload(workload)) => {
            Ok((number, workload.line()))
        }
        Err(error) => Err(format!("{name}, line {number}: {error}")),
    });
    let read: Vec<(usize, WorkloadLine)> = read.collect::<Result<_, String>>()?;
    if read.is_empty() {
        Err(format!("{name} holds no workload: {how}"))
    } else {
        Ok(read)
    }
}

impl WorkloadKeys {
    fn line(self) -> WorkloadLine {
        let mut line = WorkloadLine {
            axes: self.axes,
            ..WorkloadLine::default()
        };
        for (name, input) in self.inputs {
            match input {
                InputText::Random => line.random.push(name),
                InputText::Safetensors {} => line.stored.push(name),
                InputText::Scalar { value } => {
                    let value = match value {
                        ScalarValue::Bool(is_true) => NumberText::Integer(i64::from(is_true)),
                        ScalarValue::Integer(number) => NumberText::Integer(number),
                        ScalarValue::Float(number) => NumberText::Float(number),
                    };
                    line.scalars.insert(name, value);
                }
            }
        }
        line
    }
}
