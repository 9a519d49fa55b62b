%% ra, the Raft library of RabbitMQ as Debian ships it, on three nodes. A test fails if a command that was answered is not in the state afterwards or is
%% there twice, or if nobody answers any more.
%%
%%   commands/0      two clients send commands to different members
%%   crash/0         the same while a member that is not on the node of the test crashes and comes back
-module(ra_nodes).
-export([commands/0, crash/0]).
-export([init/1, apply/3]).
-compile({no_auto_import, [apply/3]}).

%% Long on a clock that stands still while something can be done.
-define(LONG, 600000).

members() -> [{counter, Node} || Node <- [node() | nodes()]].

%% A cluster whose state is the list of what it was told.
boot() ->
    [{ok, _} = rpc:call(Node, ra, start, [[{data_dir, "/home/ra"}]]) || Node <- [node() | nodes()]],
    {ok, Started, []} = ra:start_cluster(default, counter, {module, ?MODULE, #{}}, members()),
    3 = length(Started).

init(_) -> [].
apply(_, Command, State) -> {[Command | State], ok}.

%% Runs functions at the same time, and tells what they return.
both(Funs) ->
    Self = self(),
    Workers = [spawn_monitor(fun() -> Self ! {self(), Fun()} end) || Fun <- Funs],
    [receive
         {Pid, Value} -> Value;
         {'DOWN', Monitor, process, Pid, Reason} when Reason =/= normal -> exit(Reason)
     after ?LONG -> exit(no_answer)
     end || {Pid, Monitor} <- Workers].

%% A client whose commands are answered.
client(Name, Member) -> fun() -> [begin {ok, _, _} = ra:process_command(Member, {Name, I}, ?LONG), {Name, I} end || I <- [1, 2]] end.

commands() ->
    boot(),
    [First, Second | _] = members(),
    [One, Two] = both([client(one, First), client(two, Second)]),
    check(First, One ++ Two).

crash() ->
    boot(),
    [First, Second, {_, Third}] = members(),
    %% The names of members are on the disk after a while only; a node that crashes before does not know its member any more.
    timer:sleep(5000),
    [One, Two, ok] = both([client(one, First), client(two, Second), fun() -> away(Third) end]),
    [check(Member, One ++ Two) || Member <- members()].

away(Node) ->
    raddle:crash(Node),
    Self = self(),
    raddle:restart(Node, fun() ->
        {ok, _} = ra:start([{data_dir, "/home/ra"}]),
        Self ! {back, ra:restart_server(default, {counter, node()})}
    end),
    receive {back, ok} -> ok; {back, Other} -> exit({not_back, Other}) after ?LONG -> exit(not_back) end.

%% All that was answered is there once.
check(Member, Wanted) ->
    {ok, State, _} = ra:consistent_query(Member, fun(State) -> State end, ?LONG),
    case lists:sort(State) =:= lists:sort(Wanted) of
        true -> ok;
        false -> exit({state, State, {wanted, Wanted}})
    end.
