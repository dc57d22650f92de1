//! Diagnostic codes of object stores.

use urdf_usd_diagnostic::codes;

codes! {
    FEATURE Error "object-store-not-built-in": "The program was built without object stores.",
        "Nothing is read or written.";
    URL Error "object-store-url": "The address of an object store is not valid.", "Nothing is read or written.";
    CREDENTIALS Error "object-store-credentials": "The environment has no credentials for the object store, or the store does not accept them.",
        "Nothing is read or written.";
    ACCESS Error "object-store-access-denied": "The credentials do not allow an operation.",
        "The batch stops; the node keeps the revision on disk and publishes the next one.";
    BUCKET Error "object-store-no-bucket": "The bucket or container does not exist.",
        "The batch stops; the node keeps the revision on disk and publishes the next one.";
    TIMEOUT Error "object-store-timeout": "The object store cannot be reached, or does not answer in time, after several attempts.",
        "The batch stops, and the next run goes on from there; the node keeps the revision on disk and publishes the next one.";
    CONFLICT Error "object-store-conflict": "Other writers replaced a pointer at each of several attempts.",
        "Their revision stays. Readers see it whole.";
    CONTENT Error "object-store-content": "An object is not what this program writes, or a file changed while it was read.",
        "The batch stops; the node publishes the next revision.";
    LIMIT Error "object-store-limit": "Sources in an object store are more, or larger, than a batch downloads.",
        "The batch does not start.";
    CACHE Warning "object-store-cache": "The shared cache (--cache-url) can't be used.",
        "Results are cached on this machine only. The store is asked again after a pause of 1 to 60 seconds.";
    CACHE_LIMIT Warning "object-store-cache-limit": "The limit of the shared cache (URDF_USD_SHARED_CACHE_MB) is not a number.",
        "The default of 64 GiB applies.";
    FAILED Error "object-store-failed": "The object store refused a request.",
        "The batch stops, and the next run goes on from there; the node keeps the revision on disk and publishes the next one.";
}
