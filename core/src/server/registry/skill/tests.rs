//! Skills beside each other.

use crate::{
    server::{SkillDefinition, SkillFile, tests::server},
    sync::Mutex,
};
use std::{fmt::Debug, sync::Arc};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Visit for Kept {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        self.0.lock().push(format!("{value:?}"));
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "trunkline"
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn skl_30_skills_of_one_name_are_warned_of() {
    let skill = |root: &str| {
        let text = format!("---\nname: {}\ndescription: A skill\n---\n", root.rsplit('/').next().unwrap());
        SkillDefinition::new([SkillFile::new("SKILL.md", text)]).root(root)
    };
    let kept = Kept::default();
    tracing::subscriber::with_default(kept.clone(), || {
        let server = server().add_skill(skill("skill://a/pdf")).add_skill(skill("skill://a/web")).build();
        assert_eq!(*kept.0.lock(), [] as [String; 0]);
        server.add_skill(skill("skill://b/pdf")).unwrap();
    });
    let told = kept.0.lock();
    assert!(told.len() == 1 && told[0].contains("skill://a/pdf") && told[0].contains("skill://b/pdf"), "{told:?}");
}
