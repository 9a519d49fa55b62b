//! The bugs under `cargo raddle test`. Those in `wrong` must be found, and those in `right` stay clean.

macro_rules! both_ways {
    (@ $module:ident $correct:literal $($name:ident)*) => {
        mod $module {
            mod one_thread {
                $(#[tokio::test] async fn $name() { async_bugs::$name($correct).await; })*
            }
            mod two_threads {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() { async_bugs::$name($correct).await; })*
            }
        }
    };
    ($($name:ident)*) => {
        both_ways! { @ wrong false $($name)* }
        both_ways! { @ right true $($name)* }
    };
}

both_ways! {
    lost_update
    mismatched_response
    retry_applies_twice
    late_reply
    cancelled_read
    shutdown_loses_message
    broadcast_lag
    leaked_permit
    closed_connection_in_pool
    reconnect_loses_message
}
