//! Keeps people and places out of records.
//!
//! A record is meant to be published, and the standard error of a process may name a path below
//! somebody's home directory, a host or a user.

/// Names shorter than this are left alone: replacing them would garble ordinary text.
const SHORTEST_NAME: usize = 3;

/// Replaces the home directory, the host's name and the user's name.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    replacements: Vec<(String, &'static str)>,
}

impl Redactor {
    /// What has to be hidden here.
    #[must_use]
    pub fn current() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let directory = std::env::current_dir().ok();
        let directory = directory.and_then(|path| path.to_str().map(str::to_owned));
        Self::of(
            &directory.unwrap_or_default(),
            &variable("HOME"),
            host.trim(),
            &variable("USER"),
        )
    }

    fn of(directory: &str, home: &str, host: &str, user: &str) -> Self {
        // The longest path first: the working directory usually lies below the home directory.
        let all = [
            (directory, "."),
            (home, "~"),
            (host, "<host>"),
            (user, "<user>"),
        ];
        let replacements = all
            .into_iter()
            .filter(|(name, _)| name.len() >= SHORTEST_NAME);
        Self {
            replacements: replacements
                .map(|(name, to)| (name.to_owned(), to))
                .collect(),
        }
    }

    /// The text without them.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, replacement) in &self.replacements {
            text = replace_whole(&text, name, replacement);
        }
        text
    }
}

/// Replaces `name` where it does not continue a longer word: a user called `ann` is not in
/// `cannot`.
fn replace_whole(text: &str, name: &str, replacement: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(name) {
        cleaned.push_str(before);
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let continues = cleaned.chars().next_back().is_some_and(word) && name.starts_with(word)
            || after.chars().next().is_some_and(word);
        cleaned.push_str(if continues { name } else { replacement });
        rest = after;
    }
    cleaned.push_str(rest);
    cleaned
}

#[cfg(test)]
mod tests {
    use super::Redactor;

    #[test]
    fn homes_hosts_and_users_disappear_and_ordinary_words_stay() {
        let redactor = Redactor::of("/home/ann/project", "/home/ann", "tower", "ann");
        assert_eq!(
            redactor.clean("/home/ann/project/x: cannot open /home/ann/key on tower as ann"),
            "./x: cannot open ~/key on <host> as <user>"
        );
        assert_eq!(redactor.clean("towers"), "towers");
    }

    #[test]
    fn nothing_is_replaced_by_an_empty_name() {
        assert_eq!(Redactor::of("", "/", "", "a").clean("a / b"), "a / b");
    }
}
