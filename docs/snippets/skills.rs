// An agent skill: instructions served to clients, and a client that loads them.
use trunkline::{
    Client, ClientError, Server,
    server::{SkillDefinition, SkillFile},
};

const MANIFEST: &str = "---
name: packing
description: How to pack for a trip.
---
Ask for the forecast first.
";

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    // Or `SkillDefinition::from_folder("skills/packing")?`.
    let skill = SkillDefinition::new([SkillFile::new("SKILL.md", MANIFEST)]);
    let server = Server::builder("trips", "1.0.0").add_skill(skill).build();

    let client = Client::connect(&server).await?;
    for entry in client.list_skills().await? {
        let of = |name: &str| entry.frontmatter.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        println!("{}: {}", of("name"), of("description"));
        let loaded = client.load_skill(entry).await?;
        println!("{}", loaded.text().rsplit("---").next().unwrap_or_default().trim());
    }
    Ok(())
}
