%% Every builtin of the module erlang: it is pure, has a replacement, or is rejected. A builtin that is not
%% named here is rejected, so none reaches the host by accident.
-module(raddle_bif).
-export([sort/2, call/3]).

%% Returns pure, {Module, Function} (which takes the location as an additional argument), or refused.
sort(Function, Arity) ->
    case handled(Function, Arity) of
        no -> case is_pure(Function, Arity) of true -> pure; false -> refused end;
        Ours -> Ours
    end.

%% Handles a call that was unknown during instrumentation.
call(Function, Arguments, Location) ->
    Arity = length(Arguments),
    case sort(Function, Arity) of
        pure -> erlang:apply(erlang, Function, Arguments);
        refused ->
            case erlang:function_exported(erlang, Function, Arity) orelse erlang:is_builtin(erlang, Function, Arity) of
                true -> raddle_turn:refuse({erlang, Function, Arity}, Arguments, Location);
                false -> erlang:error(undef)
            end;
        {Module, Ours} -> erlang:apply(Module, Ours, Arguments ++ [Location])
    end.

handled('!', 2) -> {raddle_mailbox, send};
handled(send, A) when A =:= 2; A =:= 3 -> {raddle_mailbox, send};
handled(send_nosuspend, A) when A =:= 2; A =:= 3 -> {raddle_spawn, send_nosuspend};
handled(self, 0) -> {raddle_call, self};
handled(node, 0) -> {raddle_call, node};
handled(spawn, A) when A >= 1, A =< 4 -> {raddle_spawn, spawn};
handled(spawn_link, A) when A >= 1, A =< 4 -> {raddle_spawn, spawn_link};
handled(spawn_monitor, A) when A >= 1, A =< 4 -> {raddle_spawn, spawn_monitor};
handled(spawn_opt, A) when A >= 2, A =< 5 -> {raddle_spawn, spawn_opt};
handled(spawn_request, A) when A >= 1, A =< 5 -> {raddle_request, spawn_request};
handled(spawn_request_abandon, 1) -> {raddle_request, abandon};
handled(link, 1) -> {raddle_watch, link};
handled(unlink, 1) -> {raddle_watch, unlink};
handled(monitor, A) when A =:= 2; A =:= 3 -> {raddle_spawn, monitor};
handled(demonitor, A) when A =:= 1; A =:= 2 -> {raddle_spawn, demonitor};
handled(alias, A) when A =< 1 -> {raddle_spawn, alias};
handled(unalias, 1) -> {raddle_watch, unalias};
handled(exit, 2) -> {raddle_process, exit};
handled(process_flag, 2) -> {raddle_process, flag};
handled(is_process_alive, 1) -> {raddle_process, alive};
handled(hibernate, 3) -> {raddle_process, hibernate};
handled(register, 2) -> {raddle_name, register};
handled(unregister, 1) -> {raddle_name, unregister};
handled(whereis, 1) -> {raddle_name, whereis};
handled(registered, 0) -> {raddle_name, registered};
handled(process_info, A) when A =:= 1; A =:= 2 -> {raddle_info, process_info};
handled(processes, 0) -> {raddle_info, processes};
handled(group_leader, A) when A =:= 0; A =:= 2 -> {raddle_info, group_leader};
handled(get, 0) -> {raddle_info, get};
handled(get_keys, A) when A =< 1 -> {raddle_info, get_keys};
handled(erase, 0) -> {raddle_info, erase};
handled(system_info, 1) -> {raddle_info, system_info};
handled(statistics, 1) -> {raddle_info, statistics};
handled(pid_to_list, 1) -> {raddle_info, pid_to_list};
handled(list_to_pid, 1) -> {raddle_info, list_to_pid};
handled(garbage_collect, A) when A =< 2 -> {raddle_info, garbage_collect};
handled(yield, 0) -> {raddle_info, yield};
handled(make_ref, 0) -> {raddle_info, make_ref};
handled(nodes, A) when A =< 2 -> {raddle_node, nodes};
handled(is_alive, 0) -> {raddle_node, is_alive};
handled(monitor_node, A) when A =:= 2; A =:= 3 -> {raddle_node, monitor_node};
handled(disconnect_node, 1) -> {raddle_node, disconnect_node};
handled(get_cookie, A) when A =< 1 -> {raddle_node, get_cookie};
handled(set_cookie, A) when A =:= 1; A =:= 2 -> {raddle_node, set_cookie};
handled(halt, A) when A =< 2 -> {raddle_fault, halt};
handled(F, A) when F =:= monotonic_time; F =:= system_time; F =:= time_offset; F =:= unique_integer ->
    if A =< 1 -> {raddle_time, F}; true -> no end;
handled(F, 0) when F =:= timestamp; F =:= now; F =:= date; F =:= time; F =:= localtime; F =:= universaltime -> {raddle_time, F};
handled(F, A) when F =:= send_after; F =:= start_timer -> if A =:= 3; A =:= 4 -> {raddle_time, F}; true -> no end;
handled(F, A) when F =:= cancel_timer; F =:= read_timer -> if A =:= 1; A =:= 2 -> {raddle_time, F}; true -> no end;
handled(apply, 3) -> {raddle_call, call};
handled(make_fun, 3) -> {raddle_call, make_fun};
handled(function_exported, 3) -> {raddle_call, function_exported};
handled(module_loaded, 1) -> {raddle_call, module_loaded};
handled(get_module_info, A) when A =:= 1; A =:= 2 -> {raddle_call, module_info};
handled(_, _) -> no.

is_pure(Function, Arity) ->
    erl_internal:guard_bif(Function, Arity)
        orelse erl_internal:arith_op(Function, Arity)
        orelse erl_internal:comp_op(Function, Arity)
        orelse erl_internal:bool_op(Function, Arity)
        orelse erl_internal:list_op(Function, Arity)
        orelse lists:member({Function, Arity}, pure()).

%% Functions that depend only on their arguments and the own process dictionary, or have no visible effect.
pure() ->
    [{adler32, 1}, {adler32, 2}, {adler32_combine, 3}, {append, 2}, {append_element, 2}, {apply, 2}, {atom_to_binary, 1},
     {atom_to_binary, 2}, {atom_to_list, 1}, {binary_part, 2}, {binary_part, 3}, {binary_to_atom, 1}, {binary_to_atom, 2},
     {binary_to_existing_atom, 1}, {binary_to_existing_atom, 2}, {binary_to_float, 1}, {binary_to_integer, 1},
     {binary_to_integer, 2}, {binary_to_list, 1}, {binary_to_list, 3}, {binary_to_term, 1}, {binary_to_term, 2},
     {bitstring_to_list, 1}, {bump_reductions, 1}, {convert_time_unit, 3}, {crc32, 1}, {crc32, 2}, {crc32_combine, 3},
     {decode_packet, 3}, {delete_element, 2}, {erase, 1}, {error, 1}, {error, 2}, {error, 3}, {exit, 1}, {external_size, 1},
     {external_size, 2}, {float_to_binary, 1}, {float_to_binary, 2}, {float_to_list, 1}, {float_to_list, 2}, {fun_info, 1},
     {fun_info, 2}, {fun_info_mfa, 1}, {fun_to_list, 1}, {get, 1}, {insert_element, 3}, {integer_to_binary, 1},
     {integer_to_binary, 2}, {integer_to_list, 1}, {integer_to_list, 2}, {iolist_size, 1}, {iolist_to_binary, 1}, {iolist_to_iovec, 1},
     {is_builtin, 3}, {list_to_atom, 1}, {list_to_binary, 1}, {list_to_bitstring, 1}, {list_to_existing_atom, 1},
     {list_to_float, 1}, {list_to_integer, 1}, {list_to_integer, 2}, {list_to_tuple, 1}, {localtime_to_universaltime, 1},
     {localtime_to_universaltime, 2}, {make_tuple, 2}, {make_tuple, 3}, {match_spec_test, 3}, {max, 2}, {md5, 1},
     {md5_final, 1}, {md5_init, 0}, {md5_update, 2}, {min, 2}, {nif_error, 1}, {nif_error, 2}, {phash, 2}, {phash2, 1},
     {phash2, 2}, {put, 2}, {raise, 3}, {ref_to_list, 1}, {setelement, 3}, {split_binary, 2}, {subtract, 2},
     {term_to_binary, 1}, {term_to_binary, 2}, {term_to_iovec, 1}, {term_to_iovec, 2}, {throw, 1}, {tuple_to_list, 1},
     {universaltime_to_localtime, 1}, {universaltime_to_posixtime, 1}, {posixtime_to_universaltime, 1},
     {check_old_code, 1}, {dt_get_tag, 0}, {dt_put_tag, 1}, {dt_spread_tag, 1}, {dt_restore_tag, 1},
     {dt_prepend_vm_tag_data, 1}, {dt_append_vm_tag_data, 1}, {dt_get_tag_data, 0}].
