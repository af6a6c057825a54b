//! The prompts: tasks that a person gives to a client by name.

use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};

/// A name, what a person reads about it, and what the model is asked for.
const PROMPTS: [(&str, &str, &str); 2] = [
    (
        "make_faster",
        "Make this kernel faster, one experiment after the other",
        "Make the kernel faster. First read lab://problem, call history with \"lessons\": true, and call peers: do not repeat what \
         failed. Then take turns. In each turn make one change with one hypothesis, and call judge. If it fails, mend it once or \
         discard it. If it is faster, call keep, else discard, each with a hypothesis and a lesson. If the speed is undecided, call \
         measure. Change the kernel's file alone. End when three turns in a row brought nothing, and say what was kept and what \
         you would try next.",
    ),
    (
        "why_slow",
        "Find out why this kernel is slow, and change nothing",
        "Find out why the kernel is slow. Read lab://problem and the kernel, call judge for its figures and profile for the \
         device's counters; profile with \"set\": \"source\" names the lines. Say what limits the kernel, which figure shows it, how \
         far it is from the floor and the estimate, and which three changes promise most. Edit nothing, keep nothing and discard \
         nothing.",
    ),
];

pub fn list() -> Vec<Prompt> {
    let prompt = |(name, about, _)| Prompt::new(name, Some(about), None);
    PROMPTS.map(prompt).into()
}

/// The prompt with this name; `None` if there is none.
pub fn get(name: &str) -> Option<GetPromptResult> {
    let (_, about, text) = PROMPTS.iter().find(|prompt| prompt.0 == name)?;
    let message = PromptMessage::new_text(Role::User, *text);
    Some(GetPromptResult::new(vec![message]).with_description(*about))
}
