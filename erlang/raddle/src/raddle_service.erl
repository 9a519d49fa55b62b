%% Processes of OTP's kernel that a program expects on every node. They are OTP's own code, started at the
%% first call of a function that needs them, and again on a restarted node.
%%
%%   application    the application controller, with kernel, stdlib, sasl and crypto as running applications
%%   global, rex    the servers of global and rpc, on all nodes at once
%%   safe           the supervisors of servers started on demand: dets, disk_log and timer
-module(raddle_service).
-behaviour(supervisor).
-export([ensure/2, is_there/2, again/2, node_died/2, init/1]).
-include("raddle_run.hrl").

%% Ensures that a service runs, on all nodes if it needs the others. Calls by the services themselves find it
%% unchanged.
ensure(Service, Location) ->
    case is_inside(Service, Location) of
        true -> ok;
        false ->
            #me{table = Table, node = Node} = Me = raddle_turn:me(),
            Nodes = case lists:member(Service, [global, rex]) of
                        true -> [Other || Other <- raddle_table:find(Table, nodes, []), not ets:member(Table, {down, Other})];
                        false -> [Node]
                    end,
            start_at(Me, Nodes, [Service], Location),
            [await(Me, Other, Service, Location) || Other <- Nodes],
            ok
    end.

%% Returns true if the call at this location comes from a service.
is_inside(Service, Location) ->
    Modules = case Service of
                  application -> [application, application_controller, application_master, application_starter];
                  safe -> [dets, dets_server, dets_utils, dets_v9, disk_log, disk_log_1, disk_log_server, timer];
                  global -> [global];
                  rex -> [rpc]
              end,
    lists:member(persistent_term:get({raddle_base, Location bsr 14}, none), Modules).

%% Returns true if a node has a service, or is about to have it and this call is part of that.
is_there(Service, Location) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    is_inside(Service, Location) orelse raddle_table:find(Table, {service, Node, Service}, none) =:= ready.

%% Starts services that no other process has started. The operation that does it records it, so a process that
%% is ended before that leaves nothing undone.
start_at(#me{table = Table, pid = Pid} = Me, Nodes, Services, Location) ->
    [begin
         raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(raddle_table:object(Me, Key))),
         case ets:member(Table, Key) orelse ets:member(Table, {down, Node}) of
             true -> ok;
             false ->
                 Service =:= global andalso expect(Table),
                 ets:insert(Table, {service, Key, []}),
                 #process{leader = Leader} = raddle_table:process(Table, Pid),
                 raddle_process:arrived(Me, Node, fun() -> run(Service, Location) end, Leader)
         end
     end || Node <- Nodes, Service <- Services, Key <- [{service, Node, Service}], not ets:member(Table, Key)].

%% The first server of global waits for those of all present nodes.
expect(Table) ->
    ets:match(Table, {service, {service, '_', global}, '_'}) =:= []
        andalso raddle_table:put_list(Table, {expected, global},
                                      [Node || Node <- raddle_table:find(Table, nodes, []), not ets:member(Table, {down, Node})]).

await(#me{table = Table, pid = Pid}, Node, Service, Location) ->
    Key = {service, Node, Service},
    case raddle_table:find(Table, Key, ready) of
        ready -> ok;
        Waiters ->
            ets:insert(Table, {service, Key, [Pid | Waiters]}),
            Started = {'$raddle_service', Node, Service},
            raddle_mailbox:'receive'(fun(Message) -> Message =:= Started end, infinity, Location),
            ok
    end.

%% Starts the services that other nodes have, on a restarted node.
again(Me, Location) ->
    #me{table = Table, node = Node} = Me,
    Services = lists:usort([Service || [Service] <- ets:match(Table, {service, {service, '_', '$1'}, '_'}), lists:member(Service, [global, rex])]),
    start_at(Me, [Node], Services, Location),
    [await(Me, Node, Service, Location) || Service <- Services].

%% Runs the process that has started a service, for the life of the node.
run(Service, Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_process:flag(trap_exit, true, Location),
    try start(Service)
    catch
        _:Why -> raddle_turn:over(Me, {broken, unicode:characters_to_binary(io_lib:format("~tw does not start: ~0tp", [Service, Why]))})
    end,
    Service =:= global andalso meet(Me, Location),
    Waiters = raddle_table:find(Table, {service, Node, Service}, []),
    ets:insert(Table, {service, {service, Node, Service}, ready}),
    [inform(Me, Waiter, {'$raddle_service', Node, Service}, Location) || Waiter <- lists:reverse(Waiters)],
    raddle_mailbox:'receive'(none, infinity, Location).

%% Sends a message of the run itself, which reaches a process of another node even if the line is broken.
inform(#me{table = Table} = Me, Pid, Message, Location) ->
    case raddle_table:process(Table, Pid) of
        #process{mailbox = Mailbox} ->
            raddle_turn:step(Me, ?SEND, Location, ?WRITES(Mailbox)),
            raddle_signal:post(Me, Pid, Message);
        none -> ok
    end.

%% The servers of global must exist before they learn of each other, and their callers expect that they have
%% agreed.
meet(#me{table = Table, pid = Pid} = Me, Location) ->
    case raddle_table:list(Table, {expected, global}) of
        [] -> introduce(Me, Location); % Others may have connected a restarted node before its server existed.
        Expected ->
            Met = [Pid | raddle_table:list(Table, {met, global})],
            raddle_table:put_list(Table, {met, global}, Met),
            case Expected -- [erlang:node(Other) || Other <- Met] of
                [] ->
                    raddle_table:put_list(Table, {expected, global}, []),
                    raddle_table:put_list(Table, {met, global}, Met -- [Pid]),
                    [begin
                         inform(Me, Other, '$raddle_met', Location),
                         raddle_table:put_list(Table, {met, global}, raddle_table:list(Table, {met, global}) -- [Other])
                     end || Other <- Met, Other =/= Pid];
                _ -> raddle_mailbox:'receive'(fun(Message) -> Message =:= '$raddle_met' end, infinity, Location)
            end,
            introduce(Me, Location),
            '~global':sync()
    end.

%% Tells the server of global which nodes are present. That is one operation, so the loss of a node is
%% reported after it.
introduce(#me{table = Table, node = Node} = Me, Location) ->
    case raddle_table:process(Table, raddle_name:owner(Me, global_name_server, Node)) of
        #process{pid = Server, mailbox = Mailbox} ->
            raddle_turn:step(Me, ?SEND, Location, ?WRITES(Mailbox), ?READS(raddle_table:object(Me, {views, Node}))),
            [raddle_signal:post(Me, Server, {nodeup, Other, #{connection_id => raddle_line:connection(Table, Node, Other)}})
             || Other <- raddle_table:find(Table, nodes, []) -- [Node], raddle_line:is_up(Table, Node, Other)];
        none -> ok
    end.

%% Stops waiting for a node that has ended. Its services are still in the table.
node_died(#me{table = Table} = Me, Node) ->
    [raddle_signal:post(Me, Waiter, {'$raddle_service', Node, Service})
     || [Service, Waiters] <- lists:sort(ets:match(Table, {service, {service, Node, '$1'}, '$2'})), Waiters =/= ready, Waiter <- lists:reverse(Waiters)],
    Expected = raddle_table:list(Table, {expected, global}) -- [Node],
    Met = [Pid || Pid <- raddle_table:list(Table, {met, global}), erlang:node(Pid) =/= Node],
    %% It may have been the last missing one, or the one that was about to inform the others.
    case Expected -- [erlang:node(Pid) || Pid <- Met] of
        [] ->
            [raddle_table:put_list(Table, Key, []) || Key <- [{expected, global}, {met, global}]],
            [raddle_signal:post(Me, Pid, '$raddle_met') || Pid <- Met];
        _ ->
            raddle_table:put_list(Table, {expected, global}, Expected),
            raddle_table:put_list(Table, {met, global}, Met)
    end.

start(global) -> {ok, _} = '~global':start_link();
start(rex) -> {ok, _} = '~rpc':start_link();
start(safe) -> [{ok, _} = '~supervisor':start_link({local, Name}, ?MODULE, safe) || Name <- [kernel_sup, kernel_safe_sup]];
start(application) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    {ok, _} = '~application_controller':start(resource(kernel, [])),
    ok = '~application':start_boot(kernel, permanent),
    [ok = '~application':start_boot(resource(Name, [kernel]), permanent) || Name <- [stdlib, sasl, crypto] ++ raddle_elixir:applications()],
    Given = lists:sort(ets:match(Table, {environment, {environment, Node, '$1', '$2'}, {value, '$3'}})),
    [ok = '~application':set_env(App, Key, Value, [{persistent, true}]) || [App, Key, Value] <- Given].

%% An application that has no processes here.
resource(Name, Needs) ->
    _ = application:load(Name),
    Version = case application:get_key(Name, vsn) of
                  {ok, Known} -> Known;
                  undefined -> "0" % It is not installed.
              end,
    {application, Name, [{description, ""}, {vsn, Version}, {modules, []}, {registered, []}, {applications, Needs}, {env, []}]}.

init(safe) -> {ok, {#{strategy => one_for_one, intensity => 4, period => 3600}, []}}.
