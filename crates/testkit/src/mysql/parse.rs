//! Reads statements: the few that the server computes, and the first word of all others.

use super::statement::{Action, Expr, Item, Statement};

/// Calls within calls; a person needs two.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
    /// `@x` or `@@x`.
    Variable(String),
    Symbol(char),
}

struct Placed {
    token: Token,
    start: usize,
    end: usize,
}

/// Where a statement could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Near(pub(super) String);

/// The first word of a statement, in capitals.
pub(super) fn first_word(sql: &str) -> String {
    let words = Lexer::new(sql).next();
    match words {
        Some(Ok(Placed {
            token: Token::Word(word),
            ..
        })) => word.to_ascii_uppercase(),
        _ => String::new(),
    }
}

/// Reads all statements of a query, which are divided by `;`.
pub(super) fn parse(sql: &str) -> Result<Vec<Statement>, Near> {
    let tokens = Lexer::new(sql).collect::<Result<Vec<_>, _>>()?;
    let mut statements = Vec::new();
    for part in tokens.split(|placed| placed.token == Token::Symbol(';')) {
        if part.is_empty() {
            continue;
        }
        let mut parser = Parser {
            sql,
            tokens: part,
            at: 0,
            params: 0,
        };
        let action = parser.statement()?;
        statements.push(Statement {
            action,
            params: parser.params,
        });
    }
    if statements.is_empty() {
        return Err(Near(String::new()));
    }
    Ok(statements)
}

struct Lexer<'a> {
    sql: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn new(sql: &'a str) -> Self {
        Self { sql, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.sql.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let comment = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
            self.at += match rest {
                _ if blank > 0 => blank,
                _ if rest.starts_with("-- ") || rest.starts_with('#') => comment("\n"),
                _ if rest.starts_with("/*") => comment("*/"),
                _ => return,
            };
        }
    }

    /// Takes as many characters as fit.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn near(&self) -> Near {
        Near(self.rest().chars().take(80).collect())
    }

    fn token(&mut self) -> Result<Token, Near> {
        let rest = self.rest();
        let mut chars = rest.chars();
        let (first, second) = (chars.next().unwrap_or(' '), chars.next());
        Ok(match first {
            '\'' | '"' | '`' => {
                let text = self.quoted(first)?;
                match first {
                    '`' => Token::Word(text),
                    _ => Token::Text(text),
                }
            }
            'x' | 'X' if second == Some('\'') => {
                self.at += 1;
                let digits = self.quoted('\'')?;
                Token::Bytes(bytes(&digits).ok_or_else(|| self.near())?)
            }
            '_' if rest.starts_with("_binary'") => {
                self.at += "_binary".len();
                Token::Bytes(self.quoted('\'')?.into_bytes())
            }
            '@' => Token::Variable(
                self.take(|c| c.is_alphanumeric() || "@_.$".contains(c))
                    .to_ascii_lowercase(),
            ),
            '0'..='9' => {
                let mut number = self
                    .take(|c| c.is_ascii_alphanumeric() || c == '.')
                    .to_owned();
                // The sign of an exponent.
                if number.ends_with(['e', 'E']) && self.rest().starts_with(['-', '+']) {
                    number.push_str(self.take(|c| c.is_ascii_digit() || "-+".contains(c)));
                }
                Token::Number(number)
            }
            c if c.is_alphabetic() || c == '_' => Token::Word(
                self.take(|c| c.is_alphanumeric() || "_$".contains(c))
                    .to_owned(),
            ),
            symbol => {
                self.at += symbol.len_utf8();
                Token::Symbol(symbol)
            }
        })
    }

    fn quoted(&mut self, quote: char) -> Result<String, Near> {
        let near = self.near();
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quote != '`' => text.push(match chars.next() {
                    Some((_, '0')) => '\0',
                    Some((_, 'n')) => '\n',
                    Some((_, 'r')) => '\r',
                    Some((_, 't')) => '\t',
                    Some((_, 'Z')) => '\x1a',
                    Some((_, other)) => other,
                    None => return Err(near),
                }),
                c if c == quote => {
                    if chars.peek().is_some_and(|(_, next)| *next == quote) {
                        chars.next();
                        text.push(quote);
                    } else {
                        self.at += at + c.len_utf8();
                        return Ok(text);
                    }
                }
                c => text.push(c),
            }
        }
        Err(near)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Placed, Near>;

    fn next(&mut self) -> Option<Result<Placed, Near>> {
        self.skip_blanks();
        if self.rest().is_empty() {
            return None;
        }
        let start = self.at;
        let token = self.token();
        let end = self.at;
        Some(token.map(|token| Placed { token, start, end }))
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

struct Parser<'a> {
    sql: &'a str,
    tokens: &'a [Placed],
    at: usize,
    params: usize,
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Action, Near> {
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.near());
        };
        self.at += 1;
        let action = match word.to_ascii_uppercase().as_str() {
            "SELECT" => self.select()?,
            "DO" => Action::Do(self.list(Self::top)?),
            "SET" => return Ok(self.set()),
            "USE" => Action::Use(self.word()?),
            "KILL" => {
                let query = self.keyword("QUERY");
                let _ = self.keyword("CONNECTION");
                Action::Kill {
                    query,
                    id: self.top()?,
                }
            }
            "BEGIN" | "START" => return Ok(self.begin()),
            "COMMIT" | "ROLLBACK" => return Ok(self.end()),
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => {
                self.skip_all();
                Action::Change
            }
            "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "SAVEPOINT" | "RELEASE" | "FLUSH"
            | "ANALYZE" | "LOCK" | "UNLOCK" => {
                self.skip_all();
                Action::Accept
            }
            _ => {
                self.at -= 1;
                return Err(self.near());
            }
        };
        match self.peek() {
            None => Ok(action),
            Some(_) => Err(self.near()),
        }
    }

    fn select(&mut self) -> Result<Action, Near> {
        let items = self.list(|this| {
            let start = this.at;
            let value = this.top()?;
            let name = this.source(start);
            let name = match this.keyword("AS") {
                true => this.word()?,
                false => name,
            };
            Ok(Item { name, value })
        })?;
        let mut rows = 1;
        if self.keyword("FROM") {
            let near = self.near();
            let table = self.word()?.to_ascii_lowercase();
            let last = table.strip_prefix("seq_1_to_").and_then(|n| n.parse().ok());
            rows = last.ok_or(near)?;
        }
        Ok(Action::Select { items, rows })
    }

    /// What is no list of variables is accepted all the same: NAMES, TRANSACTION.
    fn set(&mut self) -> Action {
        let assignments = self.list(|this| {
            let _ = this.keyword("SESSION") || this.keyword("GLOBAL");
            let name = match this.next() {
                Some(Token::Variable(name)) => name,
                Some(Token::Word(name)) => format!("@@{}", name.to_ascii_lowercase()),
                _ => return Err(this.near()),
            };
            let _ = this.symbol(':');
            match this.symbol('=') {
                true => Ok((name, this.value_or_word()?)),
                false => Err(this.near()),
            }
        });
        match assignments {
            Ok(assignments) if self.peek().is_none() => Action::Set(assignments),
            _ => {
                self.skip_all();
                Action::Accept
            }
        }
    }

    fn value_or_word(&mut self) -> Result<Expr, Near> {
        let before = self.at;
        self.top().or_else(|_| {
            self.at = before;
            self.word().map(Expr::Text)
        })
    }

    fn begin(&mut self) -> Action {
        let mut read_only = false;
        while self.peek().is_some() {
            read_only |= self.keyword("ONLY");
            self.at += 1;
        }
        Action::Begin { read_only }
    }

    fn end(&mut self) -> Action {
        // To a savepoint, the transaction goes on.
        let partly = self.keyword("TO");
        self.skip_all();
        if partly { Action::Accept } else { Action::End }
    }

    fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, Near>,
    ) -> Result<Vec<T>, Near> {
        let mut all = vec![each(self)?];
        while self.symbol(',') {
            all.push(each(self)?);
        }
        Ok(all)
    }

    fn top(&mut self) -> Result<Expr, Near> {
        self.expr(MAX_DEPTH)
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, Near> {
        let near = self.near();
        match self.next() {
            Some(Token::Symbol('?')) => {
                self.params += 1;
                Ok(Expr::Param(self.params - 1))
            }
            Some(Token::Symbol('-')) => match self.next() {
                Some(Token::Number(text)) => number(&format!("-{text}")).ok_or(near),
                _ => Err(near),
            },
            Some(Token::Number(text)) => number(&text).ok_or(near),
            Some(Token::Text(text)) => Ok(Expr::Text(text)),
            Some(Token::Bytes(bytes)) => Ok(Expr::Bytes(bytes)),
            Some(Token::Variable(name)) => Ok(Expr::Variable(name)),
            Some(Token::Word(word)) => match word.to_ascii_uppercase().as_str() {
                "NULL" => Ok(Expr::Null),
                "TRUE" => Ok(Expr::Int(1)),
                "FALSE" => Ok(Expr::Int(0)),
                "SEQ" => Ok(Expr::Sequence),
                name if self.symbol('(') && depth > 0 => {
                    let name = name.to_owned();
                    let mut arguments = Vec::new();
                    if !self.symbol(')') {
                        arguments = self.list(|this| this.expr(depth - 1))?;
                        if !self.symbol(')') {
                            return Err(self.near());
                        }
                    }
                    Ok(Expr::Call(name, arguments))
                }
                _ => Err(near),
            },
            _ => Err(near),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn skip_all(&mut self) {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let params = rest
            .iter()
            .filter(|placed| placed.token == Token::Symbol('?'));
        self.params += params.count();
        self.at = self.tokens.len();
    }

    fn word(&mut self) -> Result<String, Near> {
        let near = self.near();
        match self.next() {
            Some(Token::Word(word) | Token::Text(word)) => Ok(word),
            _ => Err(near),
        }
    }

    fn keyword(&mut self, wanted: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(wanted));
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(&Token::Symbol(wanted));
        self.at += usize::from(found);
        found
    }

    /// The statement's text from the token at `start` to where it has come.
    fn source(&self, start: usize) -> String {
        let from = self.tokens.get(start).map_or(0, |placed| placed.start);
        let last = self.tokens.get(self.at.saturating_sub(1));
        let to = last.map_or(from, |placed| placed.end);
        self.sql.get(from..to).unwrap_or_default().to_owned()
    }

    fn near(&self) -> Near {
        let from = self.tokens.get(self.at).map(|placed| placed.start);
        let rest = from
            .and_then(|from| self.sql.get(from..))
            .unwrap_or_default();
        Near(rest.chars().take(80).collect())
    }
}

fn number(text: &str) -> Option<Expr> {
    if let Ok(value) = text.parse() {
        return Some(Expr::Int(value));
    }
    if let Ok(value) = text.parse() {
        return Some(Expr::Uint(value));
    }
    let value: f64 = text.parse().ok()?;
    Some(match text.contains(['e', 'E']) {
        true => Expr::Double(value),
        false => Expr::Decimal(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(sql: &str) -> Action {
        parse(sql).unwrap().remove(0).action
    }

    fn selected(sql: &str) -> Vec<Expr> {
        let Action::Select { items, .. } = one(sql) else {
            panic!("no SELECT: {sql}")
        };
        items.into_iter().map(|item| item.value).collect()
    }

    #[test]
    fn literals_are_read() {
        assert_eq!(
            selected(
                "select 1, -2, 18446744073709551615, 1.50, 1e3, 'it''s \\n', \"two\", x'00ff', NULL, TRUE"
            ),
            [
                Expr::Int(1),
                Expr::Int(-2),
                Expr::Uint(u64::MAX),
                Expr::Decimal("1.50".into()),
                Expr::Double(1000.0),
                Expr::Text("it's \n".into()),
                Expr::Text("two".into()),
                Expr::Bytes(vec![0, 255]),
                Expr::Null,
                Expr::Int(1),
            ]
        );
    }

    #[test]
    fn columns_are_called_by_their_alias_or_their_text() {
        let Action::Select { items, rows } =
            one("SELECT seq AS id, REPEAT('a', 3), ? -- end\n FROM seq_1_to_50")
        else {
            panic!()
        };
        let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!((names, rows), (vec!["id", "REPEAT('a', 3)", "?"], 50));
    }

    #[test]
    fn parameters_are_counted_in_every_statement() {
        let statements = parse("SELECT ?, ?; INSERT INTO t VALUES (?, '?', ?, ?)").unwrap();
        let params: Vec<_> = statements
            .iter()
            .map(|statement| statement.params)
            .collect();
        assert_eq!(params, [2, 3]);
    }

    #[test]
    fn statements_without_a_result_are_told_apart() {
        assert_eq!(one("USE `my schema`"), Action::Use("my schema".into()));
        assert_eq!(
            one("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"),
            Action::Begin { read_only: true }
        );
        assert_eq!(one("ROLLBACK TO SAVEPOINT a"), Action::Accept);
        assert_eq!(one("COMMIT"), Action::End);
        assert_eq!(one("SET NAMES utf8mb4 COLLATE utf8mb4_bin"), Action::Accept);
        assert_eq!(
            one("SET @a := 1, SESSION sql_mode = ansi"),
            Action::Set(vec![
                ("@a".into(), Expr::Int(1)),
                ("@@sql_mode".into(), Expr::Text("ansi".into()))
            ])
        );
        assert_eq!(
            one("KILL QUERY 7"),
            Action::Kill {
                query: true,
                id: Expr::Int(7)
            }
        );
    }

    #[test]
    fn what_is_no_statement_is_an_error_that_shows_where() {
        assert_eq!(parse("SELECT 1 +"), Err(Near("+".into())));
        assert_eq!(parse("nonsense here"), Err(Near("nonsense here".into())));
        for sql in [
            "",
            ";",
            "SELECT",
            "SELECT 'open",
            "SELECT f(1",
            "SELECT x'0'",
            "SELECT 1 FROM t",
        ] {
            assert!(parse(sql).is_err(), "{sql}");
        }
        let deep = format!("SELECT {}1{}", "f(".repeat(100), ")".repeat(100));
        assert!(parse(&deep).is_err());
    }
}
