%% Tests of files on the disks of nodes: what survives a crash, and OTP modules that use files.
-module(raddle_disk_tests).
-compile([export_all, nowarn_export_all]).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Cases = [F || {F, 0} <- ?MODULE:module_info(exports), lists:suffix("_case", atom_to_list(F))],
    {inorder, [{timeout, 600, {atom_to_list(F), fun ?MODULE:F/0}} || F <- Cases]}.

values(Function) -> raddle_nodes_tests:values(?MODULE, Function, 60).

%% ---- like a real disk

%% The same code runs on the host, in a separate directory.
files(Dir) ->
    F = filename:join(Dir, "f"),
    {ok, D} = file:open(F, [raw, binary, read, write]),
    A = [file:write(D, "hello"), file:position(D, {cur, -2}), file:read(D, 10), file:read(D, 1), file:pwrite(D, 8, <<"x">>), file:pread(D, 0, 20),
         file:pread(D, [{0, 1}, {8, 5}, {9, 1}]), file:position(D, 3), file:truncate(D), file:position(D, eof), file:position(D, -1), file:sync(D), file:close(D),
         file:read(D, 1)],
    {ok, E} = file:open(F, [append, raw]), ok = file:write(E, ["a", <<"b">>]), ok = file:close(E),
    B = [file:read_file(F), file:rename(F, F ++ "2"), file:read_file(F), file:delete(F ++ "2"), file:delete(F ++ "2")],
    C = [file:make_dir(filename:join(Dir, "d")), file:make_dir(filename:join(Dir, "d")), file:make_dir(filename:join(Dir, "x/y")), file:write_file(filename:join(Dir, "d/g"), "1"),
         file:list_dir(Dir), file:list_dir(filename:join(Dir, "d")), file:del_dir(filename:join(Dir, "d")), file:open(filename:join(Dir, "n/f"), [write]),
         file:rename(filename:join(Dir, "d"), filename:join(Dir, "e")), file:read_file(filename:join(Dir, "e/g")), file:read_file(Dir),
         file:copy(filename:join(Dir, "e/g"), filename:join(Dir, "e/h")), filelib:file_size(filename:join(Dir, "e/h")), filelib:is_dir(filename:join(Dir, "e")), filelib:is_regular(filename:join(Dir, "e")),
         element(3, element(2, file:read_file_info(filename:join(Dir, "e")))), file:delete(filename:join(Dir, "e/g")), file:delete(filename:join(Dir, "e/h")), file:del_dir(filename:join(Dir, "e"))],
    {ok, W} = file:open(F, [write, exclusive]), file:write(W, "abc"), file:close(W), {ok, V} = file:open(F, [write]), file:close(V),
    {A, B, C, file:open(F, [write, exclusive]), file:read_file(F), file:list_dir(filename:join(Dir, ".")), file:read_file(filename:join(Dir, "./../" ++ filename:basename(Dir) ++ "/f")), file:delete(F)}.

under_control() -> ok = file:make_dir("/tmp/d"), files("/tmp/d").

files_are_as_on_the_host_case() ->
    Dir = filename:join(filename:basedir(user_cache, "raddle"), "disk-test-" ++ os:getpid()),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Real = try files(Dir) after file:del_dir(Dir) end,
    ?assertEqual([Real], values(under_control)).

%% ---- crashes

writes(Fd, Last) -> [ok = file:write(Fd, X) || X <- Last].
crashed(Write) ->
    S = self(), spawn('b@x', fun() -> Write(), S ! written, receive never -> ok end end), receive written -> ok end,
    raddle:crash('b@x'), raddle:restart('b@x', fun() -> S ! {read, file:read_file("/home/f"), file:read_file("/home/g")} end),
    receive {read, F, G} -> {F, G} end.

unsynced() -> crashed(fun() -> {ok, F} = file:open("f", [write, raw]), writes(F, ["a", "b"]), file:sync(F), writes(F, ["c", "d"]) end).
two_files() -> crashed(fun() -> [ok = file:write_file(F, "x") || F <- ["f", "g"]] end).
renamed() -> crashed(fun() -> ok = file:write_file("f", "old", [sync]), ok = file:write_file("h", "new"), ok = file:rename("h", "f") end).

what_was_not_synced_may_be_lost_case() ->
    Gone = {error, enoent},
    %% The first writes survive, in order.
    ?assertEqual([{{ok, <<"ab">>}, Gone}, {{ok, <<"abc">>}, Gone}, {{ok, <<"abcd">>}, Gone}], values(unsynced)),
    %% Files are independent.
    ?assertEqual([{{ok, A}, {ok, B}} || A <- [<<>>, <<"x">>], B <- [<<>>, <<"x">>]], values(two_files)),
    %% A common mistake: a name is on the disk before its contents.
    ?assertEqual([{{ok, <<>>}, Gone}, {{ok, <<"new">>}, Gone}], values(renamed)).

%% ---- users of files

dets_life() ->
    {ok, T} = dets:open_file(t, [{file, "/home/t.dets"}]), ok = dets:insert(T, [{I, I} || I <- [1, 2, 3]]), ok = dets:delete(T, 2), [] = dets:lookup(T, 9), [{1, 1}] = dets:lookup(T, 1), ok = dets:close(T),
    {ok, T} = dets:open_file(t, [{file, "/home/t.dets"}]), X = lists:sort(dets:match_object(T, '_')), ok = dets:close(T), X.
log_life() ->
    {ok, L} = disk_log:open([{name, l}, {file, "/home/l.log"}]), [ok = disk_log:log(L, X) || X <- [a, b]], ok = disk_log:sync(L), ok = disk_log:close(L),
    {ok, L} = disk_log:open([{name, l}, {file, "/home/l.log"}]), {_, X} = disk_log:chunk(L, start), ok = disk_log:close(L), X.

%% Debian's mnesia, unmodified, with a node that crashes and restarts with the committed data.
mnesia_life() ->
    Nodes = ['a@x', 'b@x'], ok = mnesia:create_schema(Nodes), [ok = rpc:call(N, mnesia, start, []) || N <- Nodes],
    {atomic, ok} = mnesia:create_table(t, [{disc_copies, Nodes}]),
    {atomic, ok} = mnesia:sync_transaction(fun() -> mnesia:write({t, k, 1}) end),
    S = self(), raddle:crash('b@x'), {atomic, ok} = mnesia:transaction(fun() -> mnesia:write({t, k, 2}) end),
    raddle:restart('b@x', fun() -> net_adm:ping(node(S)), S ! {back, mnesia:start(), mnesia:wait_for_tables([t], 60000), mnesia:dirty_read(t, k)} end),
    receive {back, Start, Wait, Read} -> {Start, Wait, Read} end.

mnesia_case() -> ?assertEqual([{ok, ok, [{t, k, 2}]}], raddle_nodes_tests:values(?MODULE, mnesia_life, 5)).

dets_and_disk_log_case() ->
    ?assertEqual([[{1, 1}, {3, 3}]], values(dets_life)),
    ?assertEqual([[a, b]], values(log_life)).
