//! A line of `CLIENT LIST`: what the server believes of one of its clients.

use std::collections::BTreeMap;

/// One connection as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    fields: BTreeMap<String, String>,
}

impl ClientInfo {
    pub(super) fn parse_list(text: &str) -> Vec<Self> {
        text.lines()
            .filter(|line| !line.is_empty())
            .map(Self::parse)
            .collect()
    }

    /// Reads a line of `CLIENT LIST`, or what `CLIENT INFO` replies.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let fields = line
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self { fields }
    }

    /// A field by the name that the server gives it, such as `multi`; empty where there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The connection's id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.number("id")
    }

    /// The name that the client gave itself, or the empty one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.field("name")
    }

    /// The database that it has selected.
    #[must_use]
    pub fn database(&self) -> u64 {
        self.number("db")
    }

    /// Whom it has authenticated as.
    #[must_use]
    pub fn user(&self) -> &str {
        self.field("user")
    }

    /// The protocol that it speaks: 2 or 3.
    #[must_use]
    pub fn resp(&self) -> u64 {
        self.number("resp")
    }

    /// Subscriptions of all kinds.
    #[must_use]
    pub fn subscriptions(&self) -> u64 {
        ["sub", "psub", "ssub"]
            .iter()
            .map(|name| self.number(name))
            .sum()
    }

    /// Where it connected from, as the server writes it.
    #[must_use]
    pub fn addr(&self) -> &str {
        self.field("addr")
    }

    fn number(&self, name: &str) -> u64 {
        self.field(name).parse().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_its_fields() {
        let line = "id=7 addr=127.0.0.1:5 name= db=3 sub=1 psub=2 ssub=0 multi=-1 user=app resp=3";
        let client = ClientInfo::parse(line);
        assert_eq!((client.id(), client.database(), client.resp()), (7, 3, 3));
        assert_eq!(
            (client.name(), client.user(), client.subscriptions()),
            ("", "app", 3)
        );
        assert_eq!((client.field("multi"), client.field("none")), ("-1", ""));
    }
}
