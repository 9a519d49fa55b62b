%% ra, the Raft library of RabbitMQ as Debian ships it, on three nodes. A test fails if an acknowledged command is missing from the state or occurs
%% twice, or if requests are no longer answered.
%%
%%   commands/0      two clients send commands to different members
%%   crash/0         the same while a member on another node than the test crashes and restarts
-module(ra_nodes).
-export([commands/0, crash/0]).
-export([init/1, apply/3]).
-compile({no_auto_import, [apply/3]}).

%% A generous timeout, because the clock stands still while anything can run.
-define(LONG, 600000).

members() -> [{counter, Node} || Node <- [node() | nodes()]].

%% A cluster whose state is the list of its commands.
boot() ->
    [{ok, _} = rpc:call(Node, ra, start, [[{data_dir, "/home/ra"}]]) || Node <- [node() | nodes()]],
    {ok, Started, []} = ra:start_cluster(default, counter, {module, ?MODULE, #{}}, members()),
    3 = length(Started).

init(_) -> [].
apply(_, Command, State) -> {[Command | State], ok}.

%% Runs functions concurrently, and returns their results.
both(Funs) ->
    Self = self(),
    Workers = [spawn_monitor(fun() -> Self ! {self(), Fun()} end) || Fun <- Funs],
    [receive
         {Pid, Value} -> Value;
         {'DOWN', Monitor, process, Pid, Reason} when Reason =/= normal -> exit(Reason)
     after ?LONG -> exit(no_answer)
     end || {Pid, Monitor} <- Workers].

%% A client whose commands are acknowledged.
client(Name, Member) -> fun() -> [begin {ok, _, _} = ra:process_command(Member, {Name, I}, ?LONG), {Name, I} end || I <- [1, 2]] end.

commands() ->
    boot(),
    [First, Second | _] = members(),
    [One, Two] = both([client(one, First), client(two, Second)]),
    check(First, One ++ Two).

crash() ->
    boot(),
    [First, Second, {_, Third}] = members(),
    %% The names of members reach the disk with a delay; a node that crashes earlier no longer knows its member.
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

%% Checks that every acknowledged command occurs once.
check(Member, Wanted) ->
    {ok, State, _} = ra:consistent_query(Member, fun(State) -> State end, ?LONG),
    case lists:sort(State) =:= lists:sort(Wanted) of
        true -> ok;
        false -> exit({state, State, {wanted, Wanted}})
    end.
