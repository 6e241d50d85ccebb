//! Names in other spellings.

/// How the names of a type's fields or variants are spelled in a reply.
#[derive(Clone, Copy)]
pub(crate) enum Casing {
    AsWritten,
    Snake,
    ScreamingSnake,
    Kebab,
    Camel,
    Pascal,
    Lower,
    Upper,
}

impl Casing {
    /// What `rename_all` calls it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "camelCase" => Self::Camel,
            "PascalCase" => Self::Pascal,
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            _ => return None,
        })
    }

    /// A field's or variant's name in this spelling.
    pub(crate) fn apply(self, name: &str) -> String {
        let words = words(name);
        let capitalized = |word: &String| {
            let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            first.to_uppercase() + rest
        };
        match self {
            Self::AsWritten => name.to_owned(),
            Self::Snake => words.join("_"),
            Self::ScreamingSnake => words.join("_").to_uppercase(),
            Self::Kebab => words.join("-"),
            Self::Lower => words.concat(),
            Self::Upper => words.concat().to_uppercase(),
            Self::Pascal => words.iter().map(capitalized).collect(),
            Self::Camel => {
                let later = words.iter().skip(1).map(capitalized);
                words.iter().take(1).cloned().chain(later).collect()
            }
        }
    }
}

/// The words of `snake_case` and of `PascalCase`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_in_every_way() {
        let told = [
            (Casing::AsWritten, "last_id", "LastId"),
            (Casing::Snake, "last_id", "last_id"),
            (Casing::ScreamingSnake, "LAST_ID", "LAST_ID"),
            (Casing::Kebab, "last-id", "last-id"),
            (Casing::Camel, "lastId", "lastId"),
            (Casing::Pascal, "LastId", "LastId"),
            (Casing::Lower, "lastid", "lastid"),
            (Casing::Upper, "LASTID", "LASTID"),
        ];
        for (casing, field, variant) in told {
            assert_eq!(casing.apply("last_id"), field);
            assert_eq!(casing.apply("LastId"), variant);
        }
    }
}
