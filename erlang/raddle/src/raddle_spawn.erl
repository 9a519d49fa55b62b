%% The builtins with many arities, each with the location as its last argument.
-module(raddle_spawn).
-export([spawn/2, spawn/3, spawn/4, spawn/5, spawn_link/2, spawn_link/3, spawn_link/4, spawn_link/5,
         spawn_monitor/2, spawn_monitor/3, spawn_monitor/4, spawn_monitor/5, spawn_opt/3, spawn_opt/4, spawn_opt/5, spawn_opt/6,
         monitor/3, monitor/4, demonitor/2, demonitor/3, alias/1, alias/2, send_nosuspend/3, send_nosuspend/4]).
-compile({no_auto_import, [spawn/2, spawn/3, spawn/4, spawn_link/2, spawn_link/3, spawn_link/4, spawn_monitor/2,
                           spawn_monitor/3, spawn_monitor/4, spawn_opt/3, spawn_opt/4, spawn_opt/5, monitor/3,
                           demonitor/2, alias/1]}).
-include("raddle_run.hrl").

spawn(Fun, P) -> at(here, Fun, [], P).
spawn(Node, Fun, P) -> at(Node, Fun, [], P).
spawn(M, F, A, P) -> at(here, {M, F, A}, [], P).
spawn(Node, M, F, A, P) -> at(Node, {M, F, A}, [], P).

spawn_link(Fun, P) -> at(here, Fun, [link], P).
spawn_link(Node, Fun, P) -> at(Node, Fun, [link], P).
spawn_link(M, F, A, P) -> at(here, {M, F, A}, [link], P).
spawn_link(Node, M, F, A, P) -> at(Node, {M, F, A}, [link], P).

spawn_monitor(Fun, P) -> at(here, Fun, [monitor], P).
spawn_monitor(Node, Fun, P) -> at(Node, Fun, [monitor], P).
spawn_monitor(M, F, A, P) -> at(here, {M, F, A}, [monitor], P).
spawn_monitor(Node, M, F, A, P) -> at(Node, {M, F, A}, [monitor], P).

spawn_opt(Fun, Options, P) -> at(here, Fun, Options, P).
spawn_opt(Node, Fun, Options, P) -> at(Node, Fun, Options, P).
spawn_opt(M, F, A, Options, P) -> at(here, {M, F, A}, Options, P).
spawn_opt(Node, M, F, A, Options, P) -> at(Node, {M, F, A}, Options, P).

at(Where, What, Options, Location) when is_list(Options) ->
    Me = raddle_turn:me(),
    Node = case Where of here -> Me#me.node; _ -> Where end,
    Fun = case What of
              {M, F, A} when is_atom(M), is_atom(F), is_list(A) -> fun() -> raddle_call:call(M, F, A, Location) end;
              _ when is_function(What, 0) -> What;
              _ -> erlang:error(badarg)
          end,
    is_atom(Node) orelse erlang:error(badarg),
    Watch = case lists:keyfind(monitor, 1, Options) of
                {monitor, Given} -> Given;
                false -> case lists:member(monitor, Options) of true -> []; false -> none end
            end,
    Spawn = if Node =:= Me#me.node -> fun raddle_process:spawn/6; true -> fun raddle_request:spawn/6 end,
    Spawn(Me, Node, Fun, lists:member(link, Options), Watch, Location);
at(_, _, _, _) -> erlang:error(badarg).

monitor(Sort, Target, P) -> raddle_watch:monitor(Sort, Target, [], P).
monitor(Sort, Target, Options, P) -> raddle_watch:monitor(Sort, Target, Options, P).
demonitor(Reference, P) -> raddle_watch:demonitor(Reference, [], P).
demonitor(Reference, Options, P) -> raddle_watch:demonitor(Reference, Options, P).
alias(P) -> raddle_watch:alias([], P).
alias(Options, P) -> raddle_watch:alias(Options, P).

send_nosuspend(To, Message, P) -> raddle_mailbox:send(To, Message, P), true.
send_nosuspend(To, Message, _, P) -> raddle_mailbox:send(To, Message, P), true.
