//! Connections to object stores, with the credentials of the environment.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, Error, ObjectStore, RetryConfig};
use urdf_usd_diagnostic::{Diagnostic, Place};

use crate::codes::{CREDENTIALS, URL};
use crate::{Patience, Scheme};

/// Time for finding credentials: the services of cloud machines answer within milliseconds, and
/// elsewhere nothing answers.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(10);

/// The variable with the time after which a request is not repeated, in seconds.
const RETRY_SECONDS: &str = "URDF_USD_RETRY_SECONDS";
/// Its default. Signatures are valid for 5 minutes.
const DEFAULT_RETRY_SECONDS: u64 = 120;

/// Returns the attempts after answers 5xx and 429, refused and broken connections, and late answers.
fn retries(url: &str, patience: Patience) -> Result<RetryConfig, Diagnostic> {
    let seconds = match std::env::var(RETRY_SECONDS) {
        Ok(text) => text.trim().parse().ok().filter(|seconds| *seconds <= 240),
        Err(_) => Some(DEFAULT_RETRY_SECONDS),
    };
    let seconds = seconds.ok_or_else(|| {
        let message = format!("{RETRY_SECONDS} is not a number of seconds from 0 to 240");
        Diagnostic::new(&URL, Place::file(url), message).help("correct or remove the variable")
    })?;
    Ok(RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            base: 2.0,
        },
        max_retries: match patience {
            Patience::Long => 12,
            // After 0.1, 0.2 and 0.4 seconds.
            Patience::Short => 3,
        },
        retry_timeout: Duration::from_secs(seconds),
    })
}

/// Connects to the bucket of a URL.
pub(crate) async fn connect(
    scheme: Scheme,
    url: &str,
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, Diagnostic> {
    // reqwest is built without a provider of cryptography, since aws-lc takes minutes to compile.
    // It fails if one is installed already, which then serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retries = retries(url, patience)?;
    let invalid = |error: Error| {
        Diagnostic::new(&URL, Place::file(url), error.to_string())
            .help("correct the address and the variables of the environment")
    };
    let is_true =
        |value: Option<String>| value.is_some_and(|value| value == "true" || value == "1");
    // Anonymous access needs no credentials.
    Ok(match scheme {
        Scheme::S3 => {
            let builder = AmazonS3Builder::from_env().with_url(url);
            let is_anonymous = is_true(builder.get_config_value(&AmazonS3ConfigKey::SkipSignature));
            let store = builder
                .with_retry(retries.clone())
                .build()
                .map_err(invalid)?;
            if !is_anonymous {
                let found = store.credentials().get_credential();
                check(url, found, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with a role; AWS_SKIP_SIGNATURE=true for public buckets").await?;
            }
            Arc::new(store)
        }
        Scheme::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
            let is_anonymous = is_true(builder.get_config_value(&GoogleConfigKey::SkipSignature));
            let store = builder
                .with_retry(retries.clone())
                .build()
                .map_err(invalid)?;
            if !is_anonymous {
                let found = store.credentials().get_credential();
                check(url, found, "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account; GOOGLE_SKIP_SIGNATURE=true for public buckets").await?;
            }
            Arc::new(store)
        }
        Scheme::Azure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url);
            let is_anonymous = is_true(builder.get_config_value(&AzureConfigKey::SkipSignature));
            let store = builder
                .with_retry(retries.clone())
                .build()
                .map_err(invalid)?;
            if !is_anonymous {
                let found = store.credentials().get_credential();
                check(url, found, "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or the variables of a service principal").await?;
            }
            Arc::new(store)
        }
    })
}

/// Checks that credentials can be found before the first request: otherwise each request would
/// look for them for minutes.
async fn check<T, E: Display>(
    url: &str,
    found: impl Future<Output = Result<T, E>>,
    help: &str,
) -> Result<(), Diagnostic> {
    let why = match tokio::time::timeout(CREDENTIALS_TIMEOUT, found).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => crate::reason(&error.to_string()),
        Err(_) => "no service of the machine answers".to_owned(),
    };
    let message = format!("there are no credentials in the environment: {why}");
    Err(Diagnostic::new(&CREDENTIALS, Place::file(url), message).help(help))
}

/// Returns whether an error means that the store did not answer.
pub(crate) fn is_timeout(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(http) = one.downcast_ref::<HttpError>() {
            return matches!(
                http.kind(),
                HttpErrorKind::Connect
                    | HttpErrorKind::Request
                    | HttpErrorKind::Timeout
                    | HttpErrorKind::Interrupted
            );
        }
        cause = one.source();
    }
    // After the last attempt, an answer 5xx or 429 is one of a store that can't serve.
    let status = crate::status(&error.to_string());
    status.is_some_and(|status| status >= 500 || status == 429)
}
