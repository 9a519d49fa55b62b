%% The engine and the strategies of Raddle. Every function is one of crates/raddle-beam/src/natives.rs, which
%% documents it.
-module(raddle_nif).
-export([open/4, open_replay/1, end_with_input/0, open_requests/1, read_request/2, lanes/1, open_turns/1, next_turn/1, note_turn/3, 'begin'/3, limit_time/2, add_main/2,
         add_spawned/2, add_process_of/3, add_timer/5, add_task/5, add_carrier/3, add_object/2, start/1,
         step/6, sleep/5, wait/4, act/6, act_wait/4, act_choose/5, chosen/1, hold/3, holds/1, finish/3, deliver/2, leave/2, kill/4, cancel/2, conclude/3,
         fail/4, now/1, unique/1, interrupt/2, pids/1, locations/1, actor_name/2, steps/1, searches/1, anytime/1, counts/1, owned/1, end_run/1,
         divergence/1, print/2, printed/1, record/4, answer/5,
         open_search/1, first_candidate/1, next_candidate/3, callers/2, shown/2]).
-compile({no_auto_import, [now/0]}).
-on_load(init/0).

-define(MISSING, erlang:nif_error({not_loaded, ?MODULE})).

%% The library is in priv of this application, or at the path in the environment.
init() ->
    File = case os:getenv("RADDLE_NIF") of
               false -> filename:join([filename:dirname(filename:dirname(code:which(?MODULE))), "priv", "libraddle_beam"]);
               Given -> Given
           end,
    erlang:load_nif(File, 0).

open(_Spec, _StepLimit, _Patience, _Anytime) -> ?MISSING.
open_replay(_Text) -> ?MISSING.
end_with_input() -> ?MISSING.
open_requests(_Setup) -> ?MISSING.
read_request(_Requests, _Request) -> ?MISSING.
lanes(_Spec) -> ?MISSING.
open_turns(_Spec) -> ?MISSING.
next_turn(_Turns) -> ?MISSING.
note_turn(_Turns, _Lane, _Fingerprint) -> ?MISSING.
'begin'(_Session, _Seed, _Run) -> ?MISSING.
limit_time(_Session, _Nanoseconds) -> ?MISSING.
add_main(_Session, _Pid) -> ?MISSING.
add_spawned(_Session, _Pid) -> ?MISSING.
add_process_of(_Session, _Parent, _Pid) -> ?MISSING.
add_timer(_Session, _Parent, _Nanoseconds, _Location, _Timer) -> ?MISSING.
add_task(_Session, _Parent, _Kind, _Location, _Touches) -> ?MISSING.
add_carrier(_Session, _Parent, _Location) -> ?MISSING.
add_object(_Session, _Name) -> ?MISSING.
start(_Session) -> ?MISSING.
step(_Session, _Me, _Kind, _Location, _First, _Second) -> ?MISSING.
sleep(_Session, _Me, _Location, _Nanoseconds, _Life) -> ?MISSING.
wait(_Session, _Me, _Location, _Nanoseconds) -> ?MISSING.
act(_Session, _Who, _Actor, _Kind, _Location, _Touches) -> ?MISSING.
act_wait(_Session, _Who, _Actor, _Location) -> ?MISSING.
act_choose(_Session, _Who, _Actor, _Location, _Arity) -> ?MISSING.
chosen(_Session) -> ?MISSING.
hold(_Session, _Actor, _Steps) -> ?MISSING.
holds(_Session) -> ?MISSING.
finish(_Session, _Who, _Actor) -> ?MISSING.
deliver(_Session, _Actor) -> ?MISSING.
leave(_Session, _Actor) -> ?MISSING.
kill(_Session, _Actor, _Location, _Life) -> ?MISSING.
cancel(_Session, _Actor) -> ?MISSING.
conclude(_Session, _Actor, _Location) -> ?MISSING.
fail(_Session, _Actor, _Location, _Message) -> ?MISSING.
now(_Session) -> ?MISSING.
unique(_Session) -> ?MISSING.
interrupt(_Session, _Actor) -> ?MISSING.
pids(_Session) -> ?MISSING.
locations(_Session) -> ?MISSING.
actor_name(_Session, _Actor) -> ?MISSING.
steps(_Session) -> ?MISSING.
searches(_Session) -> ?MISSING.
anytime(_Session) -> ?MISSING.
counts(_Session) -> ?MISSING.
owned(_Session) -> ?MISSING.
end_run(_Session) -> ?MISSING.
divergence(_Session) -> ?MISSING.
print(_Session, _Text) -> ?MISSING.
printed(_Session) -> ?MISSING.
record(_Session, _Program, _Numbers, _Names) -> ?MISSING.
answer(_Session, _Numbers, _Names, _Printed, _Callers) -> ?MISSING.
open_search(_Text) -> ?MISSING.
first_candidate(_Search) -> ?MISSING.
next_candidate(_Search, _Session, _Names) -> ?MISSING.
callers(_Session, _Known) -> ?MISSING.
shown(_Text, _Callers) -> ?MISSING.
