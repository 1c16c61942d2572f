//! Checks what the server offers in an era.

use super::{
    inspector::Inspector,
    state::{Era, ListName},
};
use crate::{
    failure::{Failure, Problem},
    lint::{self, List, Offered, Offers},
};
use serde_json::Value;

impl Inspector {
    /// Checks the lists that are known, on a thread of its own: they may have megabytes.
    pub(super) async fn lint(&self, era: Era) -> Result<lint::Report, Problem> {
        let offers = self.offers(era);
        let checked = tokio::task::spawn_blocking(move || lint::check(&offers)).await;
        checked.map_err(|error| (&Failure::unreachable(error.to_string())).into())
    }

    fn offers(&self, era: Era) -> Offers {
        let mut offers = Offers { is_modern: era == Era::Modern, ..Offers::default() };
        {
            let state = &mut *self.hub.state();
            let connection = state.connection(era);
            let info: Option<Value> = connection.server_info.as_ref().and_then(|info| info.parse().ok());
            let name = info.and_then(|info| info["name"].as_str().map(str::to_owned));
            offers.server = name.unwrap_or_default();
            offers.capabilities =
                connection.capabilities.as_ref().and_then(|known| known.parse().ok()).unwrap_or_default();
            offers.instructions = connection.instructions.clone().unwrap_or_default();
        }
        let kept = ListName::ALL.map(|list| {
            let kept = &self.links()[era.index()].lists[list.index()];
            (of(list), kept.items.clone(), kept.is_reordered)
        });
        for (list, items, is_reordered) in kept {
            if let Some((list, items)) = list.zip(items.and_then(|items| items.parse().ok())) {
                offers.lists.push(Offered { list, items, is_reordered });
            }
        }
        offers
    }
}

fn of(list: ListName) -> Option<List> {
    Some(match list {
        ListName::Tools => List::Tools,
        ListName::Resources => List::Resources,
        ListName::ResourceTemplates => List::ResourceTemplates,
        ListName::Prompts => List::Prompts,
        // No host reads them yet.
        ListName::Skills => return None,
    })
}
