%% Spawn requests to another node: the request travels there, and the answer back.
-module(raddle_request).
-export([spawn_request/2, spawn_request/3, spawn_request/4, spawn_request/5, spawn_request/6, abandon/2, spawn/6, arrives/2, answered/4,
         lost/3]).
-include("raddle_run.hrl").

-record(request, {key, pid, node, reply, tag, link, watch}).

%% ---- requests

spawn_request(Fun, P) -> request(here, Fun, [], P).
spawn_request(Fun, Options, P) when is_function(Fun, 0) -> request(here, Fun, Options, P);
spawn_request(Node, Fun, P) -> request(Node, Fun, [], P).
spawn_request(Node, Fun, Options, P) when is_function(Fun, 0) -> request(Node, Fun, Options, P);
spawn_request(M, F, A, P) -> request(here, {M, F, A}, [], P).
spawn_request(Node, M, F, A, P) when is_atom(F) -> request(Node, {M, F, A}, [], P);
spawn_request(M, F, A, Options, P) -> request(here, {M, F, A}, Options, P).
spawn_request(Node, M, F, A, Options, P) -> request(Node, {M, F, A}, Options, P).

request(Where, What, Options, Location) when is_atom(Where), is_list(Options) ->
    #me{table = Table, node = Own, pid = Pid} = Me = raddle_turn:me(),
    Node = case Where of here -> Own; _ -> Where end,
    {Link, Watch} = wishes(Options),
    Request = #request{pid = Pid, node = Node, reply = proplists:get_value(reply, Options, yes),
                       tag = proplists:get_value(reply_tag, Options, spawn_reply), link = Link, watch = Watch},
    Fun = body(What, Location),
    case Node of
        Own ->
            Child = raddle_process:spawn(Me, Node, Fun, Link, none, Location),
            Reference = case Watch of
                            none -> raddle_table:reference(Me);
                            _ -> raddle_watch:monitor_new(Me, Child, Watch)
                        end,
            reply(Me, Request, Reference, {ok, Child}),
            Reference;
        _ ->
            Reference = raddle_table:reference(Me),
            {Kind, First, Second} = raddle_signal:address(Me, Own, {spawn, Node}),
            raddle_turn:step(Me, Kind, Location, First, Second),
            #process{leader = Leader} = raddle_table:process(Table, Pid),
            ets:insert(Table, Request#request{key = {request, Reference}}),
            raddle_signal:send(Me, Own, {spawn, Node}, {spawn, Reference, Pid, Node, Fun, Link, Watch, Leader}),
            Reference
    end;
request(_, _, _, _) -> erlang:error(badarg).

body({M, F, A}, Location) when is_atom(M), is_atom(F), is_list(A) -> fun() -> raddle_call:call(M, F, A, Location) end;
body(Fun, _) when is_function(Fun, 0) -> Fun;
body(_, _) -> erlang:error(badarg).

wishes(Options) ->
    Watch = case lists:keyfind(monitor, 1, Options) of
                {monitor, Given} -> Given;
                false -> case lists:member(monitor, Options) of true -> []; false -> none end
            end,
    {lists:member(link, Options), Watch}.

%% Spawns a process and waits for the answer. If there is no connection, a process of the own node represents
%% the one that could not be created.
spawn(#me{node = Own} = Me, Node, Fun, Link, Watch, Location) ->
    Reference = request(Node, Fun, [{reply_tag, '$raddle_spawned'}] ++ [link || Link] ++ [{monitor, Watch} || Watch =/= none], Location),
    Wanted = fun(Message) ->
                 is_tuple(Message) andalso tuple_size(Message) =:= 4
                     andalso element(1, Message) =:= '$raddle_spawned' andalso element(2, Message) =:= Reference
             end,
    case raddle_mailbox:'receive'(Wanted, infinity, Location) of
        {'$m', {_, _, ok, Child}} when Watch =:= none -> Child;
        {'$m', {_, _, ok, Child}} -> {Child, Reference};
        {'$m', {_, _, error, Reason}} -> raddle_process:spawn(Me, Own, fun() -> exit(Reason) end, Link, Watch, Location)
    end.

%% Returns whether the request could be abandoned before it was answered.
abandon(Reference, Location) when is_reference(Reference) ->
    #me{table = Table, pid = Pid, mailbox = Mailbox} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?READS(Mailbox)),
    case ets:lookup(Table, {request, Reference}) of
        [#request{pid = Pid}] -> ets:delete(Table, {request, Reference});
        _ -> false
    end;
abandon(_, _) -> erlang:error(badarg).

%% ---- in transit

%% Handles the arrival of the request.
arrives(#me{table = Table} = Me, {spawn, Reference, From, Node, Fun, Link, Watch, Leader}) ->
    raddle_faults:first(Table, Node, Fun),
    Child = raddle_process:arrived(Me, Node, Fun, Leader),
    Link andalso raddle_table:put_list(Table, {links, Child}, [From]),
    Watch =:= none orelse
        ets:insert(Table, [{target, {target, Reference}, Child}, {list, {watchers, Child}, [{Reference, From, Child}]}]),
    raddle_signal:send(Me, Node, From, {spawned, Reference, From, Child}).

%% Handles the arrival of the answer. A process that has ended or abandoned the request gets no links.
answered(#me{table = Table} = Me, Reference, To, Answer) ->
    case {ets:take(Table, {request, Reference}), raddle_table:process(Table, To), Answer} of
        {[#request{} = Request], #process{state = alive}, {ok, Child}} ->
            Request#request.link andalso raddle_watch:add_link(Table, To, Child),
            Request#request.watch =:= none orelse raddle_watch:monitor_known(Me, Reference, To, Child, Request#request.watch),
            reply(Me, Request, Reference, Answer);
        {[#request{} = Request], #process{state = alive}, _} -> reply(Me, Request, Reference, Answer);
        {_, _, {ok, Child}} ->
            Node = erlang:node(To),
            raddle_signal:send(Me, Node, Child, {linked, To, Child, noproc}),
            raddle_signal:send(Me, Node, Child, {demonitor, Reference, Child});
        _ -> ok
    end.

reply(Me, #request{reply = Reply, tag = Tag, pid = Pid}, Reference, {Word, Value}) ->
    Wanted = Reply =:= yes orelse Reply =:= if Word =:= ok -> success_only; true -> error_only end,
    Wanted andalso raddle_signal:post(Me, Pid, {Tag, Reference, Word, Value}).

%% Returns the messages for processes on Node that wait for an answer from Other, to which the connection is
%% lost.
lost(Table, Node, Other) ->
    lists:sort([{Pid, {not_spawned, Reference, Pid, noconnection}}
                || #request{key = {request, Reference}, pid = Pid} <- ets:match_object(Table, #request{node = Other, _ = '_'}),
                   erlang:node(Pid) =:= Node]).
