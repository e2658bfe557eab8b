//! Tool lists: many short strings, deep nesting, and few numbers.

use crate::envelope;
use crate::random::Random;
use crate::template::fill;

pub(crate) fn line(random: &mut Random) -> String {
    let len = random.around(12_600);
    let mut tools = Vec::new();
    while tools.iter().map(String::len).sum::<usize>() < len {
        tools.push(tool(random));
    }
    envelope::response("result", &format!(r#"{{"tools":[{}]}}"#, tools.join(",")), random)
}

fn tool(random: &mut Random) -> String {
    let properties: Vec<_> = (0..random.between(1, 6)).map(|_| fill(random.pick(&PROPERTIES), random)).collect();
    let head = fill(r#""name":"@_@","title":"@ @","description":"%. %, %.""#, random);
    let annotations = fill(r#"{"title":"@","readOnlyHint":true,"destructiveHint":false,"openWorldHint":true}"#, random);
    format!(
        concat!(
            r#"{{{},"inputSchema":{{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
            r#""properties":{{"path":{{"type":"string"}},{}}},"required":["path"],"additionalProperties":false}},"annotations":{}}}"#
        ),
        head,
        properties.join(","),
        annotations,
    )
}

const PROPERTIES: [&str; 7] = [
    r#""@_@":{"type":"string","description":"%, \"@\" by default"}"#,
    r#""@_@":{"type":"string","minLength":1,"maxLength":#,"pattern":"^[a-z]+\\.[a-z0-9]{2,8}$","title":"@ @"}"#,
    r#""@_@":{"type":"integer","minimum":0,"maximum":#,"default":#,"description":"%"}"#,
    r#""@_@":{"type":"boolean","default":false,"description":"%"}"#,
    r#""@_@":{"enum":["@","@","@","@"],"type":"string","description":"%"}"#,
    r#""@_@":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}],"default":null,"title":"@ @"}"#,
    concat!(
        r#""@_@":{"type":"array","items":{"type":"object","properties":{"@":{"type":"string"},"#,
        r#""@_@":{"type":"array","items":{"type":"number"}}},"required":["@"]},"description":"%"}"#
    ),
];
