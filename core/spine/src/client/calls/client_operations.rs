//! Client operations, generated from the rows of `client_operations!`.

use crate::{
    client::{
        Client, ClientError, RequestOptions,
        reading::read_result::{read, read_page},
    },
    protocol::{
        RawJson,
        method::{self, Method},
        model::*,
    },
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt::Write as _;

/// Generates the methods of the rows. Some are written by hand: the arguments of `call_tool` and
/// `get_prompt` are any value that serializes to an object, and empty results are not parsed.
macro_rules! client_methods {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident $($variant:ident)* = $method:ident(
        $($(#[doc = $param_doc:literal])* $presence:ident $param:ident $json:literal: $ty:ty,)*
    ) $(or $instead:ident)? $(-> $result:ident $(of $member:ident: $item:ident)? $(with $progress:ident)?)?;)*) => {
        impl Client {
            $(client_methods! { @$kind $name $($variant)*, [$($doc)*] $method [$($presence $param $json [$ty];)*]
                $($result $($member $item)?)? })*
        }
    };

    (@liveness $($rest:tt)*) => {};
    (@call call_tool $($rest:tt)*) => {};
    (@call get_prompt $($rest:tt)*) => {};

    (@list $name:ident $with:ident $page:ident $page_with:ident, [$($doc:literal)*] $method:ident [] $result:ident $member:ident $item:ident) => {
        $(#[doc = $doc])*
        ///
        /// Fetches all pages, one after the other.
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $name(&self) -> Result<Vec<$item>, ClientError> {
            self.$with(&RequestOptions::default()).await
        }

        $(#[doc = $doc])*
        ///
        /// The same with request options.
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $with(&self, options: &RequestOptions) -> Result<Vec<$item>, ClientError> {
            let list = self.list_all(method::$method, None, options).await?;
            let list: $result = read(&list)?;
            Ok(list.$member)
        }

        $(#[doc = $doc])*
        ///
        /// Fetches one page: the first, or the one at a cursor.
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $page(&self, cursor: Option<&str>) -> Result<$result, ClientError> {
            self.$page_with(cursor, &RequestOptions::default()).await
        }

        $(#[doc = $doc])*
        ///
        /// Fetches one page, with request options.
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $page_with(
            &self,
            cursor: Option<&str>,
            options: &RequestOptions,
        ) -> Result<$result, ClientError> {
            let params = object_of([member("cursor", cursor)?]);
            let page = self.request(method::$method, params.as_ref(), options).await?;
            read_page(Method::list_member(method::$method).unwrap_or_default(), &page)
        }
    };

    (@call $name:ident $with:ident, [$($doc:literal)*] $method:ident
        [$($presence:ident $param:ident $json:literal [$ty:ty];)*] $result:ident) => {
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $name(&self, $($param: client_methods!(@$presence $ty)),*) -> Result<$result, ClientError> {
            self.$with($($param,)* &RequestOptions::default()).await
        }

        $(#[doc = $doc])*
        ///
        /// The same with request options.
        ///
        /// # Errors
        /// See [`Client::request`].
        pub async fn $with(
            &self,
            $($param: client_methods!(@$presence $ty),)*
            options: &RequestOptions,
        ) -> Result<$result, ClientError> {
            let params = object_of([$(member($json, client_methods!(@given $presence $param))?),*]);
            read(&self.request(method::$method, params.as_ref(), options).await?)
        }
    };

    (@required $ty:ty) => { &$ty };
    (@optional $ty:ty) => { Option<&$ty> };
    (@given required $param:ident) => { Some($param) };
    (@given optional $param:ident) => { $param };
}

trunkline_proto::client_operations!(client_methods);

type Member = (&'static str, Box<RawValue>);

/// A member of parameters, if it has a value.
fn member<T: Serialize + ?Sized>(name: &'static str, value: Option<&T>) -> Result<Option<Member>, ClientError> {
    let value = value.map(to_raw_value).transpose();
    let value = value.map_err(|error| ClientError::Invalid(format!("{name} cannot be serialized as JSON: {error}")))?;
    Ok(value.map(|value| (name, value)))
}

/// Parameters; `None` if they have no members.
fn object_of<const N: usize>(members: [Option<Member>; N]) -> Option<RawJson> {
    let mut text = String::new();
    for (name, value) in members.into_iter().flatten() {
        let before = if text.is_empty() { '{' } else { ',' };
        let _ = write!(text, "{before}\"{name}\":{value}");
    }
    (!text.is_empty()).then(|| RawJson::trusted((text + "}").into()))
}
