%% Modules of OTP that a controlled program must not enter, because they lead to ports, files, or processes of the host: what takes
%% the place of their functions. A function that is not here is refused by its name, unless it is allowed (raddle_allow).
-module(raddle_library).
-export([modules/0, call/4]).
-include("raddle_run.hrl").

modules() ->
    [application, application_controller, atomics, code, counters, crypto, dets, disk_log, erl_prim_loader, error_logger, eunit, file, global, global_group, inet, init, io, logger, net_adm,
     net_kernel, os, persistent_term, prim_eval, prim_file, raddle, rpc, timer].

%% ---- time
call(timer, sleep, [Time], Place) -> raddle_mailbox:'receive'(none, Time, Place), ok;
call(timer, tc, [Fun], Place) -> measured(fun() -> erlang:apply(Fun, []) end, microsecond, Place);
call(timer, tc, [Fun, Unit], Place) when is_atom(Unit) -> measured(fun() -> erlang:apply(Fun, []) end, Unit, Place);
call(timer, tc, [Fun, Arguments], Place) -> measured(fun() -> erlang:apply(Fun, Arguments) end, microsecond, Place);
call(timer, tc, [Fun, Arguments, Unit], Place) when is_function(Fun) -> measured(fun() -> erlang:apply(Fun, Arguments) end, Unit, Place);
call(timer, tc, [M, F, A], Place) -> measured(fun() -> raddle_call:call(M, F, A, Place) end, microsecond, Place);
call(timer, tc, [M, F, A, Unit], Place) -> measured(fun() -> raddle_call:call(M, F, A, Place) end, Unit, Place);
call(timer, send_after, [Time, Message], Place) -> call(timer, send_after, [Time, raddle_call:self(), Message], Place);
call(timer, send_after, [Time, To, Message], Place) -> {ok, {once, raddle_time:send_after(Time, To, Message, Place)}};
call(timer, apply_after, [Time, Fun], Place) when is_function(Fun, 0) -> later(Time, Fun, Place);
call(timer, apply_after, [Time, Fun, A], Place) when is_function(Fun, length(A)) -> later(Time, fun() -> erlang:apply(Fun, A) end, Place);
call(timer, apply_after, [Time, M, F, A], Place) -> later(Time, fun() -> raddle_call:call(M, F, A, Place) end, Place);
call(timer, exit_after, [Time, Reason], Place) -> call(timer, exit_after, [Time, raddle_call:self(), Reason], Place);
call(timer, exit_after, [Time, Pid, Reason], Place) -> call(timer, apply_after, [Time, erlang, exit, [Pid, Reason]], Place);
call(timer, kill_after, [Time], Place) -> call(timer, exit_after, [Time, kill], Place);
call(timer, kill_after, [Time, Pid], Place) -> call(timer, exit_after, [Time, Pid, kill], Place);
call(timer, cancel, [{once, Reference}], Place) -> raddle_time:cancel_timer(Reference, Place), {ok, cancel};
call(timer, cancel, [{apply, Pid}], Place) -> raddle_process:exit(Pid, kill, Place), {ok, cancel};
call(timer, F, A, Place) ->
    case lists:member(F, [seconds, minutes, hours, hms, now_diff]) of
        true -> erlang:apply(timer, F, A);
        false ->
            %% Repeated ones, and what the server of OTP calls of its own module.
            lists:member(F, callbacks()) orelse raddle_service:ensure(safe, Place),
            erlang:apply('~timer', F, A)
    end;
call(os, timestamp, [], Place) -> raddle_time:timestamp(Place);
call(os, system_time, [], Place) -> raddle_time:system_time(Place);
call(os, system_time, [Unit], Place) -> raddle_time:system_time(Unit, Place);
call(os, perf_counter, [], Place) -> raddle_time:monotonic_time(Place);
call(os, perf_counter, [Unit], Place) -> raddle_time:monotonic_time(Unit, Place);
call(os, getpid, [], _) -> "1";
call(os, F, A, Place) -> some([getenv, type, version], os, F, A, Place);

%% ---- what is printed or logged
call(io, F, A, Place) -> raddle_io:call(F, A, Place);
call(logger, allow, [Level, Module], _) -> raddle_log:allow(Level, Module);
call(logger, macro_log, [_, Level | What], Place) -> raddle_log:log(Level, What, Place);
call(logger, log, [Level | What], Place) -> raddle_log:log(Level, What, Place);
call(logger, get_process_metadata, [], _) -> undefined;
call(logger, get_primary_config, [], _) -> #{level => notice, filter_default => log, filters => [], metadata => #{}};
call(logger, F, A, Place) ->
    Logs = [debug, info, notice, warning, error, critical, alert, emergency, update_process_metadata,
            set_process_metadata, unset_process_metadata],
    case lists:member(F, Logs) of
        true -> raddle_log:log(F, A, Place);
        false -> some([compare_levels, timestamp], logger, F, A, Place)
    end;
call(error_logger, F, What, Place) when F =:= error_msg; F =:= error_report; F =:= format -> raddle_log:log(error, What, Place);
call(error_logger, F, What, Place) when F =:= warning_msg; F =:= warning_report -> raddle_log:log(warning, What, Place);
call(error_logger, F, What, Place) when F =:= info_msg; F =:= info_report -> raddle_log:log(notice, What, Place);
call(error_logger, F, _, _) when F =/= add_report_handler, F =/= logfile, F =/= tty, F =/= start -> ok;
call(eunit, debug, _, _) -> ok;

%% ---- terms that all processes of a node share
call(persistent_term, get, [Key], Place) ->
    case persistent(Key, ?READ, Place) of
        {value, Value} -> Value;
        none -> erlang:error(badarg)
    end;
call(persistent_term, get, [Key, Default], Place) ->
    case persistent(Key, ?READ, Place) of
        {value, Value} -> Value;
        none -> Default
    end;
call(persistent_term, put, [Key, Value], Place) ->
    _ = persistent(Key, ?WRITE, Place),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:insert(Table, {persistent, {persistent, Node, Key}, {value, Value}}),
    ok;
call(persistent_term, erase, [Key], Place) ->
    Was = persistent(Key, ?WRITE, Place),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:delete(Table, {persistent, Node, Key}),
    Was =/= none;
call(Module, F, [Reference | _] = A, Place) when Module =:= atomics; Module =:= counters ->
    Functions = [add, add_get, compare_exchange, exchange, get, info, put, sub, sub_get],
    case lists:member(F, Functions) of
        true when is_reference(Reference); is_tuple(Reference) ->
            Me = raddle_turn:me(),
            Object = raddle_table:object(Me, {Module, number(Me, Reference), index(A)}),
            case F of
                get -> raddle_turn:step(Me, ?READ, Place, ?READS(Object));
                info -> ok;
                _ -> raddle_turn:step(Me, ?UPDATE, Place, ?WRITES(Object))
            end,
            erlang:apply(Module, F, A);
        _ when F =:= new ->
            New = erlang:apply(Module, new, A),
            #me{table = Table} = Me = raddle_turn:me(),
            ets:insert(Table, {array, {array, New}, raddle_table:reference(Me)}),
            New;
        _ -> refuse(Module, F, A, Place)
    end;

%% ---- applications. As long as the controller is not needed, their environment is what the host knows and what the run has set.
call(application, F, A, Place) ->
    case raddle_service:is_there(application, Place) of
        true -> erlang:apply('~application', F, A);
        false ->
            case lists:member({F, length(A)}, [{get_env, 1}, {get_env, 2}, {get_env, 3}, {set_env, 3}, {set_env, 4}, {get_application, 0},
                                               {get_application, 1}]) of
                true -> environment(F, A, Place);
                false ->
                    raddle_service:ensure(application, Place),
                    erlang:apply('~application', F, A)
            end
    end;
call(application_controller, F, A, Place) ->
    lists:member(F, callbacks()) orelse raddle_service:ensure(application, Place),
    erlang:apply('~application_controller', F, A);
call(erl_prim_loader, get_file, [File], Place) -> of_program(get_file, File, Place);
call(erl_prim_loader, read_file, [File], Place) -> of_program(read_file, File, Place); % Since OTP 27.
call(erl_prim_loader, read_file_info, [File], Place) -> of_program(read_file_info, File, Place);

call(crypto, F, A, Place) -> raddle_crypto:call(F, A, Place);
call(file, F, A, Place) -> raddle_file:call(F, A, Place);
call(prim_file, F, A, Place) ->
    %% What it has in common with file.
    Known = [del_dir, delete, get_cwd, list_dir, make_dir, read_file, read_file_info, rename, write_file],
    case lists:member(F, Known) of
        true -> raddle_file:call(F, A, Place);
        false -> refuse(prim_file, F, A, Place)
    end;
call(Module, F, A, Place) when Module =:= dets; Module =:= disk_log ->
    raddle_service:ensure(safe, Place),
    erlang:apply(raddle_modules:name(Module), F, A);

%% ---- services of all nodes
call(global, F, A, Place) ->
    lists:member(F, callbacks()) orelse raddle_service:ensure(global, Place),
    erlang:apply('~global', F, A);
call(rpc, F, A, Place) ->
    lists:member(F, [abcast, block_call, eval_everywhere, multi_server_call, sbcast, server_call]) andalso raddle_service:ensure(rex, Place),
    erlang:apply('~rpc', F, A);
call(global_group, group_configured, [], _) -> false;
call(global_group, participant, [_], _) -> true;
call(global_group, member, [_], _) -> false;
call(global_group, get_own_nodes_with_errors, [], _) -> {ok, all};
call(inet, gethostname, [], _) -> {ok, "raddle"};

%% ---- nodes
call(net_kernel, monitor_nodes, [Flag], Place) -> raddle_node:monitor_nodes(Flag, none, Place);
call(net_kernel, monitor_nodes, [Flag, Options], Place) -> raddle_node:monitor_nodes(Flag, Options, Place);
call(net_kernel, F, [Node], Place) when F =:= connect_node; F =:= connect; F =:= hidden_connect_node -> raddle_node:connect_node(Node, Place);
call(net_kernel, disconnect, [Node], Place) -> raddle_node:disconnect_node(Node, Place);
call(net_kernel, async_disconnect, [Node], Place) -> raddle_node:disconnect_node(Node, Place), ok;
call(net_kernel, F, [], _) when F =:= nodename -> raddle_call:node();
call(net_kernel, longnames, [], _) -> false;
call(net_kernel, get_net_ticktime, [], _) -> 60;
call(net_kernel, dflag_unicode_io, [_], _) -> true;
call(net_adm, ping, [Node], Place) when is_atom(Node) ->
    case raddle_node:connect_node(Node, Place) of
        true -> pong;
        false -> pang
    end;
call(net_adm, localhost, [], _) -> "raddle";
call(raddle, crash, [Node], Place) -> raddle_fault:crash(Node, Place);
call(raddle, restart, [Node, Fun], Place) -> raddle_fault:restart(Node, Fun, Place);
call(raddle, partition, [Some, Others], Place) -> raddle_fault:partition(Some, Others, Place);
call(raddle, heal, [Some, Others], Place) -> raddle_fault:heal(Some, Others, Place);
call(raddle, disconnect, [Some, Others], Place) -> raddle_fault:disconnect(Some, Others, Place);

%% ---- code
call(code, ensure_loaded, [Module], Place) ->
    case raddle_call:module_loaded(Module, Place) of
        true -> {module, Module};
        false -> code:ensure_loaded(Module)
    end;
call(code, is_loaded, [Module], Place) ->
    case raddle_call:module_loaded(Module, Place) of
        true -> {file, code:which(Module)};
        false -> false
    end;
call(code, all_loaded, [], _) -> [];
call(code, F, A, Place) -> some([which, lib_dir, priv_dir, root_dir, where_is_file, get_path], code, F, A, Place);
call(init, get_argument, _, _) -> error;
call(init, get_arguments, [], _) -> [];
call(init, get_plain_arguments, [], _) -> [];
call(init, script_name, [], _) -> undefined;
call(init, get_status, [], _) -> {started, started};

%% ---- the receive of interpreted code
call(prim_eval, 'receive', [Take, Time], Place) ->
    case raddle_mailbox:'receive'(fun(Message) -> Take(Message) =/= nomatch end, Time, Place) of
        {'$m', Message} -> Take(Message);
        '$late' -> timeout
    end;
call(Module, F, A, Place) -> refuse(Module, F, A, Place).

measured(Fun, Unit, Place) ->
    Before = raddle_time:monotonic_time(nanosecond, Place),
    Value = Fun(),
    {erlang:convert_time_unit(raddle_time:monotonic_time(nanosecond, Place) - Before, nanosecond, Unit), Value}.

later(Time, Fun, Place) -> {ok, {apply, raddle_spawn:spawn(fun() -> call(timer, sleep, [Time], Place), Fun() end, Place)}}.

%% What OTP calls in a module that is a server.
callbacks() -> [init, handle_call, handle_cast, handle_info, terminate, code_change].

environment(get_env, [_], _) -> undefined;
environment(get_env, [App, Key], Place) ->
    case variable(App, Key, ?READ, Place) of
        {value, Value} -> {ok, Value};
        none -> application:get_env(App, Key)
    end;
environment(get_env, [App, Key, Default], Place) ->
    case environment(get_env, [App, Key], Place) of
        {ok, Value} -> Value;
        undefined -> Default
    end;
environment(set_env, [App, Key, Value | _], Place) ->
    _ = variable(App, Key, ?WRITE, Place),
    #me{table = Table, node = Node} = raddle_turn:me(),
    ets:insert(Table, {environment, {environment, Node, App, Key}, {value, Value}}),
    ok;
environment(get_application, _, _) -> undefined.

%% Resources of applications are part of the program.
of_program(F, File, Place) ->
    case filename:extension(File) of
        ".app" -> erl_prim_loader:F(File);
        _ -> refuse(erl_prim_loader, F, [File], Place)
    end.

%% Functions that may be called as they are.
some(Functions, Module, F, A, Place) ->
    case lists:member(F, Functions) of
        true -> erlang:apply(Module, F, A);
        false -> refuse(Module, F, A, Place)
    end.

refuse(Module, F, A, Place) -> raddle_allow:call(Module, F, A, Place).

persistent(Key, Kind, Place) -> shared({persistent, Key}, {persistent, (raddle_turn:me())#me.node, Key}, Kind, Place).
variable(App, Key, Kind, Place) ->
    shared({environment, App, Key}, {environment, (raddle_turn:me())#me.node, App, Key}, Kind, Place).

shared(Name, Key, Kind, Place) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    Object = raddle_table:object(Me, {Name, Node}),
    raddle_turn:step(Me, Kind, Place, case Kind of ?READ -> ?READS(Object); _ -> ?WRITES(Object) end),
    raddle_table:find(Table, Key, none).

%% Each element of an array is an object of its own.
index([_, Index | _]) -> Index;
index(_) -> 0.

number(#me{table = Table}, Reference) -> raddle_table:find(Table, {array, Reference}, 0).
