//! The tools of a server that is started with `features`.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{
    CallError, Context,
    server::{Elicited, Params, ServerBuilder},
};

const PROGRESS_REPORTS: u32 = 20;

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Answer {
    value: String,
}

macro_rules! wide {
    ($($member:ident)*) => {
        #[derive(Deserialize, JsonSchema)]
        struct Wide {
            $($member: i64),*
        }

        impl Wide {
            fn sum(&self) -> i64 {
                [$(self.$member),*].iter().sum()
            }
        }
    };
}

wide! {
    f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19
    f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37 f38 f39
    f40 f41 f42 f43 f44 f45 f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57 f58 f59
    f60 f61 f62 f63 f64 f65 f66 f67 f68 f69 f70 f71 f72 f73 f74 f75 f76 f77 f78 f79
    f80 f81 f82 f83 f84 f85 f86 f87 f88 f89 f90 f91 f92 f93 f94 f95 f96 f97 f98 f99
}

pub fn add_to(builder: ServerBuilder) -> ServerBuilder {
    builder.tool("report", "Report progress, then echo the message back", report).tool("ask", "Ask the user", ask).tool(
        "wide",
        "Add 100 integers",
        |Params(numbers): Params<Wide>| async move { numbers.sum().to_string() },
    )
}

async fn report(ctx: Context, Params(Message { message }): Params<Message>) -> String {
    for number in 1..=PROGRESS_REPORTS {
        ctx.progress(number.into(), Some(PROGRESS_REPORTS.into())).await;
    }
    message
}

async fn ask(ctx: Context, Params(Message { message }): Params<Message>) -> Result<String, CallError> {
    Ok(match ctx.elicit_form::<Answer>(&message).await? {
        Elicited::Accept(answer) => answer.value,
        Elicited::Decline | Elicited::Cancel => "no answer".into(),
    })
}
