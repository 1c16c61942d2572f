//! Agent skills that a server offers (the skills extension of 2026-07-28).

use super::JsonObject;
use serde_json::Value;

json_object! {
    /// An agent skill, as a server lists it.
    pub struct SkillEntry with meta {
        /// URI of its `SKILL.md`.
        required uri: String = "uri",
        /// Frontmatter of its `SKILL.md`: name, description, and anything else that the author
        /// wrote.
        required frontmatter: JsonObject = "frontmatter",
        /// Its files, each with URI, size in bytes and digest; or the string `dynamic`.
        optional resources: Value = "resources",
    }

    /// A page of the agent skills that a server offers.
    pub struct ListSkillsResult with page {
        /// Skills. The server may have others that it does not list.
        list skills: SkillEntry = "skills",
    }

    /// An agent skill, requested by its URI.
    pub struct GetSkillResult with result {
        /// The skill.
        required skill: SkillEntry = "skill",
        /// How long the entry may be cached, in milliseconds (2026-07-28).
        optional ttl_ms: u64 = "ttlMs",
        /// `private` or `public`: which callers may share a cached entry (2026-07-28).
        optional cache_scope: String = "cacheScope",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn skills_round_trip() {
        let file = json!({"uri": "skill://a/SKILL.md", "size": 3, "digest": "sha256:00"});
        let entry =
            json!({"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a", "x": 1}, "resources": [file], "y": 2});
        let wire = json!({"skills": [entry], "nextCursor": "c"});
        let read: ListSkillsResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        let wire = json!({"skill": entry, "ttlMs": 5});
        let read: GetSkillResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
    }
}
