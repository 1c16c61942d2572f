//! Several skills on one server.

use crate::{
    server::{SkillDefinition, SkillFile, tests::server},
    tests::kept_log::KeptLog,
};

#[test]
fn skl_30_skills_of_one_name_are_warned_of() {
    let skill = |root: &str| {
        let text = format!("---\nname: {}\ndescription: A skill\n---\n", root.rsplit('/').next().unwrap());
        SkillDefinition::new([SkillFile::new("SKILL.md", text)]).root(root)
    };
    let kept = KeptLog::default();
    tracing::subscriber::with_default(kept.clone(), || {
        let server = server().add_skill(skill("skill://a/pdf")).add_skill(skill("skill://a/web")).build();
        assert_eq!(kept.take(), [] as [String; 0]);
        server.add_skill(skill("skill://b/pdf")).unwrap();
    });
    let told = kept.take();
    assert!(told.len() == 1 && told[0].contains("skill://a/pdf") && told[0].contains("skill://b/pdf"), "{told:?}");
}
