%% Replacements for modules of OTP that a controlled program must not enter, because they lead to ports,
%% files, or processes of the host. A function that is not here is rejected by name, unless it is allowed
%% (raddle_allow).
-module(raddle_library).
-export([modules/0, call/4]).
-include("raddle_run.hrl").

modules() ->
    [application, application_controller, atomics, code, counters, crypto, dets, disk_log, erl_prim_loader, error_logger, eunit, file, global, global_group, inet, init, io, logger, net_adm,
     net_kernel, os, persistent_term, prim_eval, prim_file, raddle, rpc, timer].

%% ---- time
call(timer, sleep, [Time], Location) -> raddle_mailbox:'receive'(none, Time, Location), ok;
call(timer, tc, [Fun], Location) -> measured(fun() -> erlang:apply(Fun, []) end, microsecond, Location);
call(timer, tc, [Fun, Unit], Location) when is_atom(Unit) -> measured(fun() -> erlang:apply(Fun, []) end, Unit, Location);
call(timer, tc, [Fun, Arguments], Location) -> measured(fun() -> erlang:apply(Fun, Arguments) end, microsecond, Location);
call(timer, tc, [Fun, Arguments, Unit], Location) when is_function(Fun) -> measured(fun() -> erlang:apply(Fun, Arguments) end, Unit, Location);
call(timer, tc, [M, F, A], Location) -> measured(fun() -> raddle_call:call(M, F, A, Location) end, microsecond, Location);
call(timer, tc, [M, F, A, Unit], Location) -> measured(fun() -> raddle_call:call(M, F, A, Location) end, Unit, Location);
call(timer, send_after, [Time, Message], Location) -> call(timer, send_after, [Time, raddle_call:self(), Message], Location);
call(timer, send_after, [Time, To, Message], Location) -> {ok, {once, raddle_time:send_after(Time, To, Message, Location)}};
call(timer, apply_after, [Time, Fun], Location) when is_function(Fun, 0) -> later(Time, Fun, Location);
call(timer, apply_after, [Time, Fun, A], Location) when is_function(Fun, length(A)) -> later(Time, fun() -> erlang:apply(Fun, A) end, Location);
call(timer, apply_after, [Time, M, F, A], Location) -> later(Time, fun() -> raddle_call:call(M, F, A, Location) end, Location);
call(timer, exit_after, [Time, Reason], Location) -> call(timer, exit_after, [Time, raddle_call:self(), Reason], Location);
call(timer, exit_after, [Time, Pid, Reason], Location) -> call(timer, apply_after, [Time, erlang, exit, [Pid, Reason]], Location);
call(timer, kill_after, [Time], Location) -> call(timer, exit_after, [Time, kill], Location);
call(timer, kill_after, [Time, Pid], Location) -> call(timer, exit_after, [Time, Pid, kill], Location);
call(timer, cancel, [{once, Reference}], Location) -> raddle_time:cancel_timer(Reference, Location), {ok, cancel};
call(timer, cancel, [{apply, Pid}], Location) -> raddle_process:exit(Pid, kill, Location), {ok, cancel};
call(timer, F, A, Location) ->
    case lists:member(F, [seconds, minutes, hours, hms, now_diff]) of
        true -> erlang:apply(timer, F, A);
        false ->
            %% Repeated timers, and calls of OTP's server to its own module.
            lists:member(F, callbacks()) orelse raddle_service:ensure(safe, Location),
            erlang:apply('~timer', F, A)
    end;
call(os, timestamp, [], Location) -> raddle_time:timestamp(Location);
call(os, system_time, [], Location) -> raddle_time:system_time(Location);
call(os, system_time, [Unit], Location) -> raddle_time:system_time(Unit, Location);
call(os, perf_counter, [], Location) -> raddle_time:monotonic_time(Location);
call(os, perf_counter, [Unit], Location) -> raddle_time:monotonic_time(Unit, Location);
call(os, getpid, [], _) -> "1";
call(os, F, A, Location) -> some([getenv, type, version], os, F, A, Location);

%% ---- output and logging
call(io, F, A, Location) -> raddle_io:call(F, A, Location);
call(logger, allow, [Level, Module], _) -> raddle_log:allow(Level, Module);
call(logger, macro_log, [_, Level | What], Location) -> raddle_log:log(Level, What, Location);
call(logger, log, [Level | What], Location) -> raddle_log:log(Level, What, Location);
call(logger, get_process_metadata, [], _) -> undefined;
call(logger, get_primary_config, [], _) -> #{level => notice, filter_default => log, filters => [], metadata => #{}};
call(logger, F, A, Location) ->
    Logs = [debug, info, notice, warning, error, critical, alert, emergency, update_process_metadata,
            set_process_metadata, unset_process_metadata],
    case lists:member(F, Logs) of
        true -> raddle_log:log(F, A, Location);
        false -> some([compare_levels, timestamp], logger, F, A, Location)
    end;
call(error_logger, F, What, Location) when F =:= error_msg; F =:= error_report; F =:= format -> raddle_log:log(error, What, Location);
call(error_logger, F, What, Location) when F =:= warning_msg; F =:= warning_report -> raddle_log:log(warning, What, Location);
call(error_logger, F, What, Location) when F =:= info_msg; F =:= info_report -> raddle_log:log(notice, What, Location);
call(error_logger, F, _, _) when F =/= add_report_handler, F =/= logfile, F =/= tty, F =/= start -> ok;
call(eunit, debug, _, _) -> ok;

%% ---- terms that all processes of a node share
call(persistent_term, get, [Key], Location) ->
    case persistent(Key, ?READ, Location) of
        {value, Value} -> Value;
        none -> erlang:error(badarg)
    end;
call(persistent_term, get, [Key, Default], Location) ->
    case persistent(Key, ?READ, Location) of
        {value, Value} -> Value;
        none -> Default
    end;
call(persistent_term, put, [Key, Value], Location) ->
    _ = persistent(Key, ?WRITE, Location),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:insert(Table, {persistent, {persistent, Node, Key}, {value, Value}}),
    ok;
call(persistent_term, erase, [Key], Location) ->
    Was = persistent(Key, ?WRITE, Location),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:delete(Table, {persistent, Node, Key}),
    Was =/= none;
call(Module, F, [Reference | _] = A, Location) when Module =:= atomics; Module =:= counters ->
    Functions = [add, add_get, compare_exchange, exchange, get, info, put, sub, sub_get],
    case lists:member(F, Functions) of
        true when is_reference(Reference); is_tuple(Reference) ->
            Me = raddle_turn:me(),
            Object = raddle_table:object(Me, {Module, number(Me, Reference), index(A)}),
            case F of
                get -> raddle_turn:step(Me, ?READ, Location, ?READS(Object));
                info -> ok;
                _ -> raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(Object))
            end,
            erlang:apply(Module, F, A);
        _ when F =:= new ->
            New = erlang:apply(Module, new, A),
            #me{table = Table} = Me = raddle_turn:me(),
            ets:insert(Table, {array, {array, New}, raddle_table:reference(Me)}),
            New;
        _ -> refuse(Module, F, A, Location)
    end;

%% ---- applications. As long as the controller is not needed, their environment consists of the host's and
%% what the run has set.
call(application, F, A, Location) ->
    case raddle_service:is_there(application, Location) of
        true -> erlang:apply('~application', F, A);
        false ->
            case lists:member({F, length(A)}, [{get_env, 1}, {get_env, 2}, {get_env, 3}, {set_env, 3}, {set_env, 4}, {get_application, 0},
                                               {get_application, 1}]) of
                true -> environment(F, A, Location);
                false ->
                    raddle_service:ensure(application, Location),
                    erlang:apply('~application', F, A)
            end
    end;
call(application_controller, F, A, Location) ->
    lists:member(F, callbacks()) orelse raddle_service:ensure(application, Location),
    erlang:apply('~application_controller', F, A);
call(erl_prim_loader, get_file, [File], Location) -> of_program(get_file, File, Location);
call(erl_prim_loader, read_file, [File], Location) -> of_program(read_file, File, Location); % Since OTP 27.
call(erl_prim_loader, read_file_info, [File], Location) -> of_program(read_file_info, File, Location);

call(crypto, F, A, Location) -> raddle_crypto:call(F, A, Location);
call(file, F, A, Location) -> raddle_file:call(F, A, Location);
call(prim_file, F, A, Location) ->
    %% The functions that it shares with file.
    Known = [del_dir, delete, get_cwd, list_dir, make_dir, read_file, read_file_info, rename, write_file],
    case lists:member(F, Known) of
        true -> raddle_file:call(F, A, Location);
        false -> refuse(prim_file, F, A, Location)
    end;
call(Module, F, A, Location) when Module =:= dets; Module =:= disk_log ->
    raddle_service:ensure(safe, Location),
    erlang:apply(raddle_modules:name(Module), F, A);

%% ---- services of all nodes
call(global, F, A, Location) ->
    lists:member(F, callbacks()) orelse raddle_service:ensure(global, Location),
    erlang:apply('~global', F, A);
call(rpc, F, A, Location) ->
    lists:member(F, [abcast, block_call, eval_everywhere, multi_server_call, sbcast, server_call]) andalso raddle_service:ensure(rex, Location),
    erlang:apply('~rpc', F, A);
call(global_group, group_configured, [], _) -> false;
call(global_group, participant, [_], _) -> true;
call(global_group, member, [_], _) -> false;
call(global_group, get_own_nodes_with_errors, [], _) -> {ok, all};
call(inet, gethostname, [], _) -> {ok, "raddle"};

%% ---- nodes
call(net_kernel, monitor_nodes, [Flag], Location) -> raddle_node:monitor_nodes(Flag, none, Location);
call(net_kernel, monitor_nodes, [Flag, Options], Location) -> raddle_node:monitor_nodes(Flag, Options, Location);
call(net_kernel, F, [Node], Location) when F =:= connect_node; F =:= connect; F =:= hidden_connect_node -> raddle_node:connect_node(Node, Location);
call(net_kernel, disconnect, [Node], Location) -> raddle_node:disconnect_node(Node, Location);
call(net_kernel, async_disconnect, [Node], Location) -> raddle_node:disconnect_node(Node, Location), ok;
call(net_kernel, F, [], _) when F =:= nodename -> raddle_call:node();
call(net_kernel, longnames, [], _) -> false;
call(net_kernel, get_net_ticktime, [], _) -> 60;
call(net_kernel, dflag_unicode_io, [_], _) -> true;
call(net_adm, ping, [Node], Location) when is_atom(Node) ->
    case raddle_node:connect_node(Node, Location) of
        true -> pong;
        false -> pang
    end;
call(net_adm, localhost, [], _) -> "raddle";
call(raddle, crash, [Node], Location) -> raddle_fault:crash(Node, Location);
call(raddle, restart, [Node, Fun], Location) -> raddle_fault:restart(Node, Fun, Location);
call(raddle, partition, [Some, Others], Location) -> raddle_fault:partition(Some, Others, Location);
call(raddle, heal, [Some, Others], Location) -> raddle_fault:heal(Some, Others, Location);
call(raddle, disconnect, [Some, Others], Location) -> raddle_fault:disconnect(Some, Others, Location);

%% ---- code
call(code, ensure_loaded, [Module], Location) ->
    case raddle_call:module_loaded(Module, Location) of
        true -> {module, Module};
        false -> code:ensure_loaded(Module)
    end;
call(code, is_loaded, [Module], Location) ->
    case raddle_call:module_loaded(Module, Location) of
        true -> {file, code:which(Module)};
        false -> false
    end;
call(code, all_loaded, [], _) -> [];
call(code, F, A, Location) -> some([which, lib_dir, priv_dir, root_dir, where_is_file, get_path], code, F, A, Location);
call(init, get_argument, _, _) -> error;
call(init, get_arguments, [], _) -> [];
call(init, get_plain_arguments, [], _) -> [];
call(init, script_name, [], _) -> undefined;
call(init, get_status, [], _) -> {started, started};

%% ---- the receive of interpreted code
call(prim_eval, 'receive', [Take, Time], Location) ->
    case raddle_mailbox:'receive'(fun(Message) -> Take(Message) =/= nomatch end, Time, Location) of
        {'$m', Message} -> Take(Message);
        '$late' -> timeout
    end;
call(Module, F, A, Location) -> refuse(Module, F, A, Location).

measured(Fun, Unit, Location) ->
    Before = raddle_time:monotonic_time(nanosecond, Location),
    Value = Fun(),
    {erlang:convert_time_unit(raddle_time:monotonic_time(nanosecond, Location) - Before, nanosecond, Unit), Value}.

later(Time, Fun, Location) -> {ok, {apply, raddle_spawn:spawn(fun() -> call(timer, sleep, [Time], Location), Fun() end, Location)}}.

%% The callbacks that OTP calls in a server module.
callbacks() -> [init, handle_call, handle_cast, handle_info, terminate, code_change].

environment(get_env, [_], _) -> undefined;
environment(get_env, [App, Key], Location) ->
    case variable(App, Key, ?READ, Location) of
        {value, Value} -> {ok, Value};
        none -> application:get_env(App, Key)
    end;
environment(get_env, [App, Key, Default], Location) ->
    case environment(get_env, [App, Key], Location) of
        {ok, Value} -> Value;
        undefined -> Default
    end;
environment(set_env, [App, Key, Value | _], Location) ->
    _ = variable(App, Key, ?WRITE, Location),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:insert(Table, {environment, {environment, Node, App, Key}, {value, Value}}),
    ok;
environment(get_application, _, _) -> undefined.

%% Resources of applications are part of the program.
of_program(F, File, Location) ->
    case filename:extension(File) of
        ".app" -> erl_prim_loader:F(File);
        _ -> refuse(erl_prim_loader, F, [File], Location)
    end.

%% Functions that may be called unmodified.
some(Functions, Module, F, A, Location) ->
    case lists:member(F, Functions) of
        true -> erlang:apply(Module, F, A);
        false -> refuse(Module, F, A, Location)
    end.

refuse(Module, F, A, Location) -> raddle_allow:call(Module, F, A, Location).

persistent(Key, Kind, Location) -> shared({persistent, Key}, {persistent, (raddle_turn:me())#me.node, Key}, Kind, Location).
variable(App, Key, Kind, Location) ->
    shared({environment, App, Key}, {environment, (raddle_turn:me())#me.node, App, Key}, Kind, Location).

shared(Name, Key, Kind, Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    Object = raddle_table:object(Me, {Name, Node}),
    raddle_turn:step(Me, Kind, Location, case Kind of ?READ -> ?READS(Object); _ -> ?WRITES(Object) end),
    raddle_table:find(Table, Key, none).

%% Each element of an array is a separate object.
index([_, Index | _]) -> Index;
index(_) -> 0.

number(#me{table = Table}, Reference) -> raddle_table:find(Table, {array, Reference}, 0).
