//! The screen: state and a pure update (`app`), panes that draw, a terminal guard.
