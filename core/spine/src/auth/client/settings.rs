//! Validated options of a client's authorization.

use super::{
    AssertionRequest, AuthNetwork, AuthorizationHandler, CredentialStore, IdentityTokenRequest, LoginHandler,
    MemoryStore, OAuthGrant, OAuthOptions, TokenStore,
    client_identity::{AuthMethod, ClientRegistration},
    discovery::{Discovered, Needed},
    signing::SigningKey,
    token_source::TokenSource,
};
use crate::auth::AuthOptionError;
use std::sync::Arc;

/// The grant that obtains tokens.
#[derive(Clone)]
pub(super) enum Grant {
    /// A user authorizes the client.
    AuthorizationCode(Arc<dyn AuthorizationHandler>),
    /// A user enters a code in a browser anywhere (RFC 8628).
    DeviceCode(Arc<dyn AuthorizationHandler>),
    /// The client acts for itself (extension "OAuth client credentials").
    ClientCredentials,
    /// An identity provider grants access (extension "Enterprise-managed authorization").
    Enterprise(IdentityProvider),
    /// The platform vouches for the workload with a JWT, requested each time (draft extension
    /// "Workload identity federation", XAU-37).
    Workload(TokenSource<AssertionRequest>),
}

/// The identity provider of an organization, and the user's assertion from it.
#[derive(Clone)]
pub(super) struct IdentityProvider {
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    pub(super) assertion: TokenSource<IdentityTokenRequest>,
    pub(super) subject_token_type: String,
}

/// The options, and what is derived from them.
pub(super) struct Settings {
    pub(super) options: OAuthOptions,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) network: Arc<dyn AuthNetwork>,
    pub(super) grant: Grant,
    pub(super) key: Option<SigningKey>,
}

impl Settings {
    /// Derives the settings from validated options.
    pub(super) fn new(options: OAuthOptions, network: Arc<dyn AuthNetwork>) -> Result<Self, AuthOptionError> {
        let store: Arc<dyn TokenStore> = match &options.store {
            CredentialStore::Memory => Arc::new(MemoryStore::new()),
            CredentialStore::Custom(store) => Arc::clone(store),
            CredentialStore::File
            | CredentialStore::Keychain
            | CredentialStore::Folder(_)
            | CredentialStore::Url(_) => {
                let problem = "needs the file system: use OAuth::new, or set a store of your own";
                return Err(AuthOptionError::new("store", problem));
            }
        };
        let grant = Grant::of(&options)?;
        let read = |pem| SigningKey::from_pem(pem, options.algorithm, options.key_id.clone());
        let key = options.private_key.as_deref().map(read).transpose();
        let key = key.map_err(|error| AuthOptionError::new("privateKey", format!("cannot be used: {error}")))?;
        Ok(Self { options, store, network, grant, key })
    }

    /// The parameter `resource` of a request; empty if none is sent.
    pub(super) fn resource_parameter<'a>(&self, resource: &'a str) -> &'a str {
        if self.options.send_resource { resource } else { "" }
    }

    /// The result of discovery, with the resource that the program names.
    pub(super) fn named(&self, found: Discovered) -> Discovered {
        let resource = self.options.resource.clone().unwrap_or(found.resource);
        Discovered { resource, ..found }
    }

    /// The authorization server metadata that the grant needs.
    pub(super) fn needed(&self) -> Needed<'_> {
        let page = matches!(self.grant, Grant::AuthorizationCode(_));
        let device = matches!(self.grant, Grant::DeviceCode(_));
        let token_endpoint = self.options.token_endpoint.as_deref();
        Needed { page, pkce: page && !self.options.assume_pkce, device, token_endpoint }
    }
}

impl Grant {
    /// Returns whether a user authorizes the client.
    pub(super) fn has_user(&self) -> bool {
        matches!(self, Self::AuthorizationCode(_) | Self::DeviceCode(_))
    }

    fn of(options: &OAuthOptions) -> Result<Self, AuthOptionError> {
        let missing = |name| move || AuthOptionError::new(name, "is missing");
        Ok(match options.grant {
            OAuthGrant::AuthorizationCode | OAuthGrant::DeviceCode => match &options.handler {
                LoginHandler::Custom(handler) if options.grant == OAuthGrant::DeviceCode => {
                    Self::DeviceCode(Arc::clone(handler))
                }
                LoginHandler::Custom(handler) => Self::AuthorizationCode(Arc::clone(handler)),
                LoginHandler::Browser | LoginHandler::Opener(_) => {
                    return Err(AuthOptionError::new("handler", "is missing: use OAuth::new to log in with a browser"));
                }
            },
            OAuthGrant::ClientCredentials => Self::ClientCredentials,
            OAuthGrant::EnterpriseManaged => {
                let id = options.idp_client_id.clone().ok_or_else(missing("idpClientId"))?;
                // XAU-19
                let method = options.idp_client_secret.as_ref().map_or(AuthMethod::None, |_| AuthMethod::Basic);
                Self::Enterprise(IdentityProvider {
                    token_endpoint: options.idp_token_endpoint.clone().ok_or_else(missing("idpTokenEndpoint"))?,
                    client: ClientRegistration::new(id, options.idp_client_secret.clone(), method),
                    assertion: options.identity_token.clone().ok_or_else(missing("identityToken"))?,
                    subject_token_type: options.idp_token_type.clone(),
                })
            }
            OAuthGrant::WorkloadIdentity => Self::Workload(options.assertion.clone().ok_or_else(missing("assertion"))?),
        })
    }
}
