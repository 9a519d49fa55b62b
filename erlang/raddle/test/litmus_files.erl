%% Litmus programs about files on the disk of a node, where concurrent operations depend on each other. The
%% disk is virtual, so these are not compared with a real VM; they check that dpor finds all outcomes.
-module(litmus_files).
-compile([export_all, nowarn_export_all]).
-include("litmus.hrl").

-define(B, 'b@raddle').

beside(F) -> {_, M} = spawn_monitor(F), M.
done(M) -> receive {'DOWN', M, _, _, _} -> ok end.

l_file_in_new_directory() -> M = beside(fun() -> file:make_dir("d") end), X = file:write_file("d/f", "x"), done(M), X.
l_file_in_old_directory() -> file:make_dir("d"), M = beside(fun() -> file:del_dir("d") end), X = file:write_file("d/f", "x"), done(M), {X, file:list_dir("d")}.
l_directory_in_file() -> M = beside(fun() -> file:write_file("d", "x") end), X = file:make_dir("d/e"), done(M), X.
l_list_beside_new() -> M = beside(fun() -> file:write_file("f", "x") end), X = file:list_dir("."), done(M), X.
l_list_beside_delete() -> file:write_file("f", "x"), M = beside(fun() -> file:delete("f") end), X = file:list_dir("/home"), done(M), X.
l_list_of_a_file() -> M = beside(fun() -> file:write_file("f", "x") end), X = file:list_dir("f"), done(M), X.
l_list_beside_rename() -> file:write_file("f", "x"), M = beside(fun() -> file:rename("f", "/tmp/g") end), X = {file:list_dir("/home"), file:list_dir("/tmp")}, done(M), X.
l_truncated_beside_read() -> file:write_file("f", "x"), {ok, F} = file:open("f", [read, raw]),
    M = beside(fun() -> file:open("f", [write]) end), X = file:read(F, 1), done(M), X.
l_truncated_beside_write() -> file:write_file("f", "x"), {ok, F} = file:open("f", [append, raw]),
    M = beside(fun() -> file:open("f", [write]) end), file:write(F, "y"), done(M), file:read_file("f").
l_renamed_beside_read() -> file:write_file("f", "x"), M = beside(fun() -> file:rename("f", "g") end), X = file:read_file("f"), Y = file:read_file("g"), done(M), {X, Y}.
l_renamed_over() -> file:write_file("f", "new"), file:write_file("g", "old"), M = beside(fun() -> file:rename("f", "g") end), X = file:read_file("g"), done(M), X.
l_renamed_twice() -> file:write_file("f", "x"), M = beside(fun() -> file:rename("f", "g") end), X = file:rename("f", "h"), done(M), X.
l_directory_renamed() -> file:make_dir("d"), file:write_file("d/f", "x"), M = beside(fun() -> file:rename("d", "e") end), X = file:read_file("d/f"), Y = file:read_file("e/f"), done(M), {X, Y}.
l_directory_renamed_beside_new() -> file:make_dir("d"), M = beside(fun() -> file:rename("d", "e") end), X = file:write_file("d/f", "x"), done(M), {X, file:list_dir("e")}.
l_two_exclusive() -> S = self(), [spawn(fun() -> S ! {I, element(1, file:open("f", [write, exclusive]))} end) || I <- [1, 2]], lists:sort([get1(), get1()]).
l_one_position() -> file:write_file("f", "ab"), {ok, F} = file:open("f", [read]), S = self(), M = beside(fun() -> S ! {read, file:read(F, 1)} end), X = file:read(F, 1), done(M),
    {X, receive {read, Y} -> Y end}.
l_closed_beside_read() -> file:write_file("f", "a"), {ok, F} = file:open("f", [read]), M = beside(fun() -> file:close(F) end), X = file:read(F, 1), done(M), X.
l_size_beside_write() -> file:write_file("f", "a"), M = beside(fun() -> file:write_file("f", "bc", [append]) end), X = filelib:file_size("f"), done(M), X.
l_crash_beside_rename() -> %% The order of the two decides which of the names exists after the crash.
    S = self(), spawn(?B, fun() -> file:write_file("f", "x", [sync]), S ! up, file:rename("f", "/tmp/g"), receive never -> ok end end), receive up -> ok end, raddle:crash(?B),
    raddle:restart(?B, fun() -> S ! {file:list_dir("/home"), file:list_dir("/tmp")} end), get1().
