%% Processes of OTP's kernel that a program expects on every node. They are OTP's own code, started when the first function is called that needs
%% them, and again on a node that is restarted.
%%
%%   application    the application controller, with kernel, stdlib, sasl and crypto as applications that are running
%%   global, rex    the servers of global and rpc, on all nodes at once
%%   safe           the supervisors of what is started on demand: the servers of dets, disk_log and timer
-module(raddle_service).
-behaviour(supervisor).
-export([ensure/2, is_there/2, again/2, node_died/2, init/1]).
-include("raddle_run.hrl").

%% Sees to it that a service is there, on all nodes if it needs the others. Calls of the services themselves find it as it is.
ensure(Service, Place) ->
    case is_inside(Service, Place) of
        true -> ok;
        false ->
            #me{table = Table, node = Node} = Me = raddle_turn:me(),
            Nodes = case lists:member(Service, [global, rex]) of
                        true -> [Other || Other <- raddle_table:find(Table, nodes, []), not ets:member(Table, {down, Other})];
                        false -> [Node]
                    end,
            start_at(Me, Nodes, [Service], Place),
            [await(Me, Other, Service, Place) || Other <- Nodes],
            ok
    end.

%% Whether the call at this place is one of a service.
is_inside(Service, Place) ->
    Modules = case Service of
                  application -> [application, application_controller, application_master, application_starter];
                  safe -> [dets, dets_server, dets_utils, dets_v9, disk_log, disk_log_1, disk_log_server, timer];
                  global -> [global];
                  rex -> [rpc]
              end,
    lists:member(persistent_term:get({raddle_base, Place bsr 14}, none), Modules).

%% Whether a node has a service, or is about to have it and this is part of that.
is_there(Service, Place) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    is_inside(Service, Place) orelse raddle_table:find(Table, {service, Node, Service}, none) =:= ready.

%% Starts what nobody else has started. It is noted in the operation that does it, so whoever is ended before that leaves nothing undone.
start_at(#me{table = Table, pid = Pid} = Me, Nodes, Services, Place) ->
    [begin
         raddle_turn:step(Me, ?UPDATE, Place, ?WRITES(raddle_table:object(Me, Key))),
         case ets:member(Table, Key) orelse ets:member(Table, {down, Node}) of
             true -> ok;
             false ->
                 Service =:= global andalso expect(Table),
                 ets:insert(Table, {service, Key, []}),
                 #process{leader = Leader} = raddle_table:process(Table, Pid),
                 raddle_process:arrived(Me, Node, fun() -> run(Service, Place) end, Leader)
         end
     end || Node <- Nodes, Service <- Services, Key <- [{service, Node, Service}], not ets:member(Table, Key)].

%% The first server of global waits for those of all nodes that are there.
expect(Table) ->
    ets:match(Table, {service, {service, '_', global}, '_'}) =:= []
        andalso raddle_table:put_list(Table, {expected, global},
                                      [Node || Node <- raddle_table:find(Table, nodes, []), not ets:member(Table, {down, Node})]).

await(#me{table = Table, pid = Pid}, Node, Service, Place) ->
    Key = {service, Node, Service},
    case raddle_table:find(Table, Key, ready) of
        ready -> ok;
        Waiters ->
            ets:insert(Table, {service, Key, [Pid | Waiters]}),
            Told = {'$raddle_service', Node, Service},
            raddle_mailbox:'receive'(fun(Message) -> Message =:= Told end, infinity, Place),
            ok
    end.

%% The services that other nodes have, for a node that comes back.
again(Me, Place) ->
    #me{table = Table, node = Node} = Me,
    Services = lists:usort([Service || [Service] <- ets:match(Table, {service, {service, '_', '$1'}, '_'}), lists:member(Service, [global, rex])]),
    start_at(Me, [Node], Services, Place),
    [await(Me, Node, Service, Place) || Service <- Services].

%% The process that has started a service, for as long as the node is there.
run(Service, Place) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_process:flag(trap_exit, true, Place),
    try start(Service)
    catch
        _:Why -> raddle_turn:over(Me, {broken, unicode:characters_to_binary(io_lib:format("~tw does not start: ~0tp", [Service, Why]))})
    end,
    Service =:= global andalso meet(Me, Place),
    Waiters = raddle_table:find(Table, {service, Node, Service}, []),
    ets:insert(Table, {service, {service, Node, Service}, ready}),
    [tell(Me, Waiter, {'$raddle_service', Node, Service}, Place) || Waiter <- lists:reverse(Waiters)],
    raddle_mailbox:'receive'(none, infinity, Place).

%% A message of the run itself, which no broken line keeps from a process of another node.
tell(#me{table = Table} = Me, Pid, Message, Place) ->
    case raddle_table:process(Table, Pid) of
        #process{mailbox = Mailbox} ->
            raddle_turn:step(Me, ?SEND, Place, ?WRITES(Mailbox)),
            raddle_signal:post(Me, Pid, Message);
        none -> ok
    end.

%% The servers of global have to be there before they hear of each other, and those who call them expect that they have agreed.
meet(#me{table = Table, pid = Pid} = Me, Place) ->
    case raddle_table:list(Table, {expected, global}) of
        [] -> introduce(Me, Place); % A node that is restarted may have been connected by others before its server was there.
        Expected ->
            Met = [Pid | raddle_table:list(Table, {met, global})],
            raddle_table:put_list(Table, {met, global}, Met),
            case Expected -- [erlang:node(Other) || Other <- Met] of
                [] ->
                    raddle_table:put_list(Table, {expected, global}, []),
                    raddle_table:put_list(Table, {met, global}, Met -- [Pid]),
                    [begin
                         tell(Me, Other, '$raddle_met', Place),
                         raddle_table:put_list(Table, {met, global}, raddle_table:list(Table, {met, global}) -- [Other])
                     end || Other <- Met, Other =/= Pid];
                _ -> raddle_mailbox:'receive'(fun(Message) -> Message =:= '$raddle_met' end, infinity, Place)
            end,
            introduce(Me, Place),
            '~global':sync()
    end.

%% Tells the server of global who is there. That is one operation, so a node that is then lost is told after it.
introduce(#me{table = Table, node = Node} = Me, Place) ->
    case raddle_table:process(Table, raddle_name:owner(Me, global_name_server, Node)) of
        #process{pid = Server, mailbox = Mailbox} ->
            raddle_turn:step(Me, ?SEND, Place, ?WRITES(Mailbox), ?READS(raddle_table:object(Me, {views, Node}))),
            [raddle_signal:post(Me, Server, {nodeup, Other, #{connection_id => raddle_line:connection(Table, Node, Other)}})
             || Other <- raddle_table:find(Table, nodes, []) -- [Node], raddle_line:is_up(Table, Node, Other)];
        none -> ok
    end.

%% A node that is gone is not waited for. Its services are still in the table.
node_died(#me{table = Table} = Me, Node) ->
    [raddle_signal:post(Me, Waiter, {'$raddle_service', Node, Service})
     || [Service, Waiters] <- lists:sort(ets:match(Table, {service, {service, Node, '$1'}, '$2'})), Waiters =/= ready, Waiter <- lists:reverse(Waiters)],
    Expected = raddle_table:list(Table, {expected, global}) -- [Node],
    Met = [Pid || Pid <- raddle_table:list(Table, {met, global}), erlang:node(Pid) =/= Node],
    %% It may have been the last one that was missing, or the one that was about to tell the others that nobody is.
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
