//! Several items in one text.

use itertools::Itertools;
use std::fmt::Display;

/// The items with commas between them; `None` without items.
///
/// ```
/// assert_eq!(lab_text::listed([1, 2, 3]).as_deref(), Some("1, 2, 3"));
/// assert_eq!(lab_text::listed::<u32>([]), None);
/// ```
pub fn listed<T: Display>(items: impl IntoIterator<Item = T>) -> Option<String> {
    let mut items = items.into_iter().peekable();
    items.peek()?;
    Some(items.join(", "))
}
