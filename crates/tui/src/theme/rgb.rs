//! A colour as a scheme states it, and the nearest colour of a terminal that shows fewer.

/// Red, green and blue in sRGB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Parses six hexadecimal digits, with or without a `#`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let [_, r, g, b] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Rgb(r, g, b))
    }

    /// WCAG 2.1's relative luminance, 0 to 1.
    pub fn luminance(self) -> f64 {
        let part = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(self.0) + 0.7152 * part(self.1) + 0.0722 * part(self.2)
    }

    /// WCAG 2.1's contrast ratio, 1 to 21.
    pub fn contrast(self, other: Rgb) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    /// This colour laid over `background` with an opacity of `share`, 0 to 1.
    #[must_use]
    pub fn over(self, background: Rgb, share: f64) -> Rgb {
        let mix =
            |a: u8, b: u8| (f64::from(a) * share + f64::from(b) * (1.0 - share)).round() as u8;
        Rgb(
            mix(self.0, background.0),
            mix(self.1, background.1),
            mix(self.2, background.2),
        )
    }

    /// The index of the nearest colour of xterm's 6×6×6 cube and its 24 greys. Never one of the
    /// first sixteen, which a terminal's palette redefines.
    pub fn indexed(self) -> u8 {
        anstyle_lossy::rgb_to_xterm(anstyle::RgbColor(self.0, self.1, self.2)).0
    }

    /// The colour at the index [`Rgb::indexed`].
    #[must_use]
    pub fn nearest(self) -> Rgb {
        // The conversion asks for a palette of the first sixteen colours, which `indexed` never
        // returns.
        let sixteen = anstyle_lossy::palette::VGA;
        let anstyle::RgbColor(r, g, b) =
            anstyle_lossy::xterm_to_rgb(anstyle::Ansi256Color(self.indexed()), sixteen);
        Rgb(r, g, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_has_six_digits() {
        assert_eq!(Rgb::parse("#7fc98A"), Some(Rgb(0x7f, 0xc9, 0x8a)));
        assert_eq!(Rgb::parse("000000"), Some(Rgb(0, 0, 0)));
        for wrong in ["", "#fff", "7fc98", "7fc98ag", "+fc98a", "é0000"] {
            assert_eq!(Rgb::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_nearest_colour_is_of_the_cube_or_a_grey() {
        assert_eq!(Rgb(255, 0, 0).indexed(), 196);
        assert_eq!(Rgb(0x80, 0x80, 0x80).indexed(), 244);
        assert_eq!(Rgb(0, 0, 0).indexed(), 16);
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        assert_eq!(Rgb(255, 255, 255).contrast(Rgb(0, 0, 0)).round(), 21.0);
        // The lightest grey whose contrast with white is 4.5:1.
        let grey = Rgb(0x76, 0x76, 0x76).contrast(Rgb(255, 255, 255));
        assert!((4.5..4.6).contains(&grey), "{grey}");
    }

    #[test]
    fn a_tenth_of_white_over_black_is_dark_grey() {
        assert_eq!(Rgb(255, 255, 255).over(Rgb(0, 0, 0), 0.1), Rgb(26, 26, 26));
    }
}
