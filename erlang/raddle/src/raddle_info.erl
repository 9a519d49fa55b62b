%% Queries of a process about itself, others and the system. Nothing here exposes data of the host that could
%% differ between two runs.
-module(raddle_info).
-export([process_info/2, process_info/3, processes/1, group_leader/1, group_leader/3, get/1, get_keys/1, get_keys/2, erase/1, put_label/2,
         system_info/2, statistics/2, pid_to_list/2, list_to_pid/2, garbage_collect/1, garbage_collect/2, garbage_collect/3,
         yield/1, make_ref/1, number/1]).
-compile({no_auto_import, [process_info/2, get/1, get_keys/1, erase/1, group_leader/2, pid_to_list/1, list_to_pid/1,
                           garbage_collect/1, statistics/1, processes/0]}).
-include("raddle_run.hrl").

process_info(Pid, Location) ->
    process_info(Pid, [registered_name, current_function, initial_call, status, message_queue_len, links, dictionary,
                       trap_exit, error_handler, priority, group_leader, total_heap_size, heap_size, stack_size,
                       reductions], Location).

process_info(Pid, Items, Location) when is_pid(Pid) ->
    #me{table = Table, pid = Own, node = Node} = Me = raddle_turn:me(),
    erlang:node(Pid) =:= Node orelse erlang:error(badarg),
    Some = fun(Is) -> is_list(Items) andalso lists:any(Is, Items) orelse Is(Items) end,
    Shared = Some(fun is_shared/1),
    Inner = Pid =/= Own andalso Some(fun is_inner/1),
    case {raddle_table:process(Table, Pid), raddle_table:objects(Table, Pid)} of
        {none, {Mailbox, Life}} -> raddle_turn:known(Me, Location, ?READS(Life), ?READS(Mailbox));
        {none, none} -> ok;
        {_, {Mailbox, Life}} when Inner -> raddle_turn:step(Me, ?READ, Location, ?WRITES(Life), ?WRITES(Mailbox));
        {_, {Mailbox, Life}} when Shared -> raddle_turn:step(Me, ?READ, Location, ?WRITES(Life), ?READS(Mailbox));
        {_, {Mailbox, Life}} when Pid =/= Own -> raddle_turn:step(Me, ?READ, Location, ?READS(Life), ?READS(Mailbox));
        {_, {Mailbox, _}} -> Some(fun is_mail/1) andalso raddle_turn:step(Me, ?READ, Location, ?READS(Mailbox))
    end,
    case raddle_table:process(Table, Pid) of
        #process{state = alive} = Process when is_list(Items) ->
            [info(Me, Process, Item, Location) || Item <- Items];
        #process{state = alive} = Process ->
            case info(Me, Process, Items, Location) of
                {registered_name, []} -> [];
                Info -> Info
            end;
        _ -> undefined
    end;
process_info(_, _, _) -> erlang:error(badarg).

%% Items that others change with operations that only read the life, because they are independent; so a query
%% writes it.
is_shared(Item) -> Item =:= links orelse Item =:= monitors orelse Item =:= monitored_by.

%% Items that a process changes without an operation, as part of its latest one. Each of these reads its life
%% or its mailbox, so a query writes both.
is_inner(Item) -> not lists:member(Item, [registered_name, trap_exit, group_leader, links, monitors, monitored_by, priority, error_handler, initial_call]).

is_mail(Item) -> Item =:= messages orelse Item =:= message_queue_len.

info(#me{table = Table} = Me, #process{pid = Pid} = Process, Item, Location) ->
    {Item,
     case Item of
         registered_name -> raddle_table:find(Table, {name_of, Pid}, []);
         links -> raddle_table:list(Table, {links, Pid});
         monitors -> lists:sort([{process, Target} || [Target] <- ets:match(Table, {monitor, '_', Pid, '$1', '_'})]);
         monitored_by -> [Watcher || {_, Watcher, _} <- raddle_table:list(Table, {watchers, Pid})];
         trap_exit -> Process#process.trap;
         messages -> mail(Me, Process);
         message_queue_len -> length(mail(Me, Process));
         dictionary -> dictionary(Me, Process);
         {dictionary, Key} -> proplists:get_value(Key, dictionary(Me, Process));
         group_leader -> Process#process.leader;
         status when Pid =:= Me#me.pid -> running;
         status -> waiting;
         priority -> normal;
         error_handler -> error_handler;
         initial_call -> {erlang, apply, 2};
         current_function -> {Module, Function, Arity, _} = top(Process), {Module, Function, Arity};
         current_location -> top(Process);
         current_stacktrace -> stack(Process);
         message_queue_data -> on_heap;
         suspending -> [];
         catchlevel -> 0;
         min_heap_size -> 233;
         _ when Item =:= memory; Item =:= heap_size; Item =:= stack_size; Item =:= total_heap_size; Item =:= reductions -> 1000;
         _ -> raddle_turn:refuse({erlang, process_info, 2}, [Pid, Item], Location)
     end}.

%% Returns the current stack of a process, as far as it is in the program. A process that has not begun or is
%% over has none.
stack(#process{real = Real}) ->
    case erlang:process_info(Real, current_stacktrace) of
        {current_stacktrace, Stack} -> raddle_process:clean(Stack);
        undefined -> []
    end.

top(Process) ->
    case stack(Process) of
        [Top | _] -> Top;
        [] -> {erlang, apply, 2, []}
    end.

mail(#me{pid = Pid}, #process{pid = Pid}) -> raddle_mailbox:messages();
mail(_, #process{real = Real}) ->
    [{messages, New}, {dictionary, Dictionary}] = erlang:process_info(Real, [messages, dictionary]),
    proplists:get_value('$raddle_mail', Dictionary, []) ++ [Message || {'$m', Message} <- New].

dictionary(#me{pid = Pid}, #process{pid = Pid}) -> own(erlang:get());
dictionary(_, #process{real = Real}) ->
    {dictionary, Dictionary} = erlang:process_info(Real, dictionary),
    own(Dictionary).

%% In the order of terms: that of the host differs between VMs.
own(Dictionary) -> raddle_table:sorted([Entry || {Key, _} = Entry <- Dictionary, not is_ours(Key)]).

%% Returns true for a key that Raddle stores in the process dictionary.
is_ours(Key) ->
    lists:member(Key, ['$raddle', '$raddle_mail', '$raddle_refs', '$raddle_owes', '$raddle_flags', '$raddle_calls', '$raddle_loop',
                       '$raddle_random', '$raddle_unique', '$raddle_ended']).

%% Like proc_lib:set_label/1, since OTP 27. Others can read a label, so this is an operation.
put_label(Label, Location) ->
    #me{life = Life} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?WRITE, Location, ?WRITES(Life)),
    erlang:put('$process_label', Label).

get(_) -> own(erlang:get()).
get_keys(_) -> raddle_table:sorted([Key || Key <- erlang:get_keys(), not is_ours(Key)]).
get_keys(Value, _) -> raddle_table:sorted([Key || Key <- erlang:get_keys(Value), not is_ours(Key)]).
erase(_) ->
    Dictionary = own(erlang:get()),
    [erlang:erase(Key) || {Key, _} <- Dictionary],
    Dictionary.

%% A process that is about to end still counts.
processes(Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?WRITES(raddle_turn:roll(Me, processes))),
    lists:sort([Pid || #process{pid = Pid} <- ets:match_object(Table, #process{_ = '_'}),
                       erlang:node(Pid) =:= Node]).

%% Others may set it.
group_leader(Location) ->
    #me{table = Table, pid = Pid, life = Life} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?READS(Life)),
    (raddle_table:process(Table, Pid))#process.leader.
group_leader(Leader, Pid, Location) ->
    #me{table = Table} = Me = raddle_turn:me(),
    case {raddle_table:process(Table, Pid), raddle_table:objects(Table, Pid)} of
        {none, {_, Life}} -> raddle_turn:known(Me, Location, ?READS(Life));
        {#process{}, {_, Life}} when Pid =/= Me#me.pid -> raddle_turn:step(Me, ?WRITE, Location, ?WRITES(Life));
        _ -> ok
    end,
    ets:update_element(Table, Pid, {#process.leader, Leader}) orelse erlang:error(badarg).

system_info(Item, Location) ->
    case lists:member(Item, [otp_release, version, wordsize, {wordsize, internal}, {wordsize, external}, machine,
                             system_architecture, os_type, os_version, process_limit, port_limit, atom_limit, ets_limit,
                             threads, smp_support, compat_rel, driver_version, nif_version, fullsweep_after,
                             emu_flavor, emu_type, endian, build_type, delayed_node_table_gc, max_heap_size,
                             min_heap_size, min_bin_vheap_size]) of
        true -> erlang:system_info(Item);
        false when Item =:= schedulers; Item =:= schedulers_online; Item =:= logical_processors;
                   Item =:= logical_processors_available; Item =:= logical_processors_online -> 4;
        false when Item =:= start_time -> 0;
        false when Item =:= end_time -> 1 bsl 60;
        false when Item =:= creation -> % It differs in each life of the node.
            #me{table = Table, node = Node} = raddle_turn:me(),
            1 + raddle_table:find(Table, {count, {restarts, Node}}, 0);
        false -> raddle_turn:refuse({erlang, system_info, 1}, [Item], Location)
    end.

%% Used time is unknown.
statistics(Item, _) when Item =:= runtime; Item =:= wall_clock; Item =:= reductions; Item =:= exact_reductions -> {0, 0};
statistics(Item, Location) -> raddle_turn:refuse({erlang, statistics, 1}, [Item], Location).

%% Pids of the own node look as they do to their owner, independent of the host's node number.
pid_to_list(Pid, _) when is_pid(Pid) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    Nodes = raddle_table:find(Table, nodes, []),
    Where = case erlang:node(Pid) of
                Node -> 0;
                Other -> length(lists:takewhile(fun(Known) -> Known =/= Other end, Nodes)) + 1
            end,
    lists:flatten(io_lib:format("<~w.~w.0>", [Where, number(Pid)]));
pid_to_list(_, _) -> erlang:error(badarg).

number(Pid) ->
    Bytes = term_to_binary(Pid),
    binary:decode_unsigned(binary:part(Bytes, byte_size(Bytes) - 12, 4)).

list_to_pid(Text, _) ->
    #me{table = Table, node = Node} = raddle_turn:me(),
    case io_lib:fread("<~d.~d.~d>", Text) of
        {ok, [0, Number, 0], []} -> raddle_table:pid(Node, Number);
        {ok, [Where, Number, 0], []} ->
            Nodes = raddle_table:find(Table, nodes, []),
            Where =< length(Nodes) orelse erlang:error(badarg),
            raddle_table:pid(lists:nth(Where, Nodes), Number);
        _ -> erlang:error(badarg)
    end.

garbage_collect(_) -> true.
garbage_collect(_, _) -> true.
garbage_collect(_, _, _) -> true.
yield(Location) -> raddle_turn:step(raddle_turn:me(), ?YIELD, Location, ?NONE), true.
make_ref(_) -> raddle_table:reference(raddle_turn:me()).
