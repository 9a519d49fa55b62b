%% Files, on a disk of each node that survives its crashes. Names, directories and the existence of files are
%% on the disk at once; file contents are visible at once, but are certain to survive a crash only if the file
%% was synced. Of later writes, any prefix of each file's writes survives: between the crash and the restart
%% of a node, an actor for each file moves one write after the other to the disk.
-module(raddle_file).
-export([call/3, crashed/2, persist/2, restarted/2]).
-include("raddle_run.hrl").

%% The content of a file: as visible, as certainly on the disk, and the writes that lead from the second to
%% the first, latest first.
-record(inode, {key, node, content = <<>>, stable = <<>>, pending = []}).
-record(fd, {key, node, inode, position = 0, modes}).

-define(HOME, "/home").

%% ---- which file

path(Name) ->
    Absolute = filename:absname(filename:join([lists:flatten(string:replace(to_list(Name), "//", "/", all))]), ?HOME),
    filename:join(lists:foldl(fun step/2, [], filename:split(Absolute))).

%% There are no links, so a path without dots names the same file.
step(".", Path) -> Path;
step("..", ["/"]) -> ["/"];
step("..", Path) -> lists:droplast(Path);
step(Name, Path) -> Path ++ [Name].

to_list(Name) when is_binary(Name) -> unicode:characters_to_list(Name);
to_list(Name) when is_atom(Name) -> atom_to_list(Name);
to_list(Name) ->
    try unicode:characters_to_list(Name) of
        List when is_list(List) -> List;
        _ -> erlang:error(badarg)
    catch
        error:_ -> erlang:error(badarg)
    end.

%% An operation on names, or on the content of a file. A crash of the node depends on it.
at(#me{node = Node} = Me, Kind, First, ?NONE, Location) -> raddle_turn:step(Me, Kind, Location, First, ?READS(raddle_table:object(Me, {node, Node})));
at(#me{node = Node} = Me, Kind, First, Second, Location) ->
    raddle_turn:step(Me, Kind, Location, First, Second, ?READS(raddle_table:object(Me, {node, Node}))).

%% The object of the names in a directory, existing or not, and of the content of a file.
object(#me{node = Node} = Me, What) -> raddle_table:object(Me, {disk, Node, What}).

%% Looking up a path touches the names in its directory. A change of the directory also changes the names in
%% it: whether they can be reached.
looks(Me, Path) -> ?READS(object(Me, filename:dirname(Path))).

at_change(Me, Path, Location) ->
    Names = ?WRITES(object(Me, Path)),
    Beside = case ?WRITES(object(Me, filename:dirname(Path))) of
                 Names -> ?NONE;
                 Other -> Other
             end,
    at(Me, ?WRITE, Names, Beside, Location).

entry(#me{table = Table, node = Node}, Path) ->
    case lists:member(Path, ["/", ?HOME, "/tmp"]) of
        true -> directory;
        false -> raddle_table:find(Table, {file, Node, Path}, none)
    end.

put_entry(#me{table = Table, node = Node}, Path, Entry) -> ets:insert(Table, {file, {file, Node, Path}, Entry}).
delete_entry(#me{table = Table, node = Node}, Path) -> ets:delete(Table, {file, Node, Path}).

children(#me{table = Table, node = Node}, Path) ->
    lists:sort([filename:basename(Name) || [Name] <- ets:match(Table, {file, {file, Node, '$1'}, '_'}), filename:dirname(Name) =:= Path]).

inode(#me{table = Table}, Number) -> hd(ets:lookup(Table, {inode, Number})).

%% An inode is identified by the path at its creation and its count there, which does not depend on other
%% files.
new_inode(#me{table = Table, node = Node} = Me, Path) ->
    Number = {Path, raddle_table:count(Table, {inodes, Node, Path})},
    ets:insert(Table, #inode{key = {inode, {Node, Number}}, node = Node}),
    put_entry(Me, Path, {Node, Number}),
    {Node, Number}.

%% ---- the functions of file

call(F, A, Location) -> file(F, A, raddle_turn:me(), Location).

file(format_error, [Why], _, _) -> file:format_error(Why);
file(native_name_encoding, [], _, _) -> utf8;
file(get_cwd, [], _, _) -> {ok, ?HOME};
file(open, [Name, Modes], Me, Location) when is_list(Modes) -> open(Me, path(Name), Modes, Location);
file(open, [Name, Mode], Me, Location) when is_atom(Mode) -> open(Me, path(Name), [Mode], Location);
file(close, [Fd], #me{table = Table} = Me, Location) ->
    case fd(Me, Fd) of
        #fd{key = Key} = Open ->
            own(Me, Open) =:= ?NONE orelse at(Me, ?WRITE, own(Me, Open), ?NONE, Location),
            case ets:member(Table, Key) of
                true -> ets:delete(Table, Key), ok;
                false -> {error, einval}
            end;
        none -> {error, einval}
    end;
file(position, [Fd, Where], Me, Location) -> with(Me, Fd, ?READ, Location, fun(Open, Inode) -> seek(Me, Open, Inode, Where) end);
file(read, [Fd, Count], Me, Location) ->
    with(Me, Fd, ?READ, Location, fun(#fd{position = At} = Open, Inode) ->
        Read = part(Open, Inode, At, Count),
        move(Me, Open, case Read of {ok, Data} -> At + iolist_size(Data); eof -> At end),
        Read
    end);
file(pread, [Fd, At, Count], Me, Location) -> with(Me, Fd, ?READ, Location, fun(Open, Inode) -> part(Open, Inode, At, Count) end);
file(pread, [Fd, Parts], Me, Location) ->
    with(Me, Fd, ?READ, Location, fun(Open, Inode) ->
        {ok, [case part(Open, Inode, At, Count) of {ok, Data} -> Data; eof -> eof end || {At, Count} <- Parts]}
    end);
file(write, [Fd, Data], Me, Location) ->
    with(Me, Fd, ?WRITE, Location, fun(#fd{position = At, modes = Modes} = Open, #inode{content = Content} = Inode) ->
        Where = case lists:member(append, Modes) of true -> byte_size(Content); false -> At end,
        Bytes = iolist_to_binary(Data),
        change(Me, Inode, {write, Where, Bytes}),
        move(Me, Open, Where + byte_size(Bytes)),
        ok
    end);
file(pwrite, [Fd, At, Data], Me, Location) -> file(pwrite, [Fd, [{At, Data}]], Me, Location);
file(pwrite, [Fd, Parts], #me{} = Me, Location) ->
    with(Me, Fd, ?WRITE, Location, fun(_, #inode{key = {inode, Number}}) ->
        [change(Me, inode(Me, Number), {write, At, iolist_to_binary(Data)}) || {At, Data} <- Parts],
        ok
    end);
file(truncate, [Fd], Me, Location) ->
    with(Me, Fd, ?WRITE, Location, fun(#fd{position = At}, Inode) -> change(Me, Inode, {truncate, At}), ok end);
file(Sync, [Fd], #me{table = Table} = Me, Location) when Sync =:= sync; Sync =:= datasync ->
    with(Me, Fd, ?WRITE, Location, fun(_, #inode{content = Content} = Inode) ->
        ets:insert(Table, Inode#inode{stable = Content, pending = []}),
        ok
    end);
file(advise, _, _, _) -> ok;
file(allocate, _, _, _) -> ok;
file(ipread_s32bu_p32bu, [Fd, At, Most], Me, Location) ->
    with(Me, Fd, ?READ, Location, fun(Open, Inode) ->
        case part(Open#fd{modes = [binary]}, Inode, At, 8) of
            {ok, <<0:32, Where:32>>} -> {ok, {0, Where, eof}};
            {ok, <<Size:32, Where:32>>} when Size =< Most -> {ok, {Size, Where, case part(Open, Inode, Where, Size) of {ok, Data} -> Data; eof -> eof end}};
            _ -> eof
        end
    end);
file(copy, [From, To], Me, Location) -> copy(Me, From, To, Location);
file(read_file, [Name, Options], Me, Location) when Options =:= []; Options =:= [raw] -> file(read_file, [Name], Me, Location);
file(read_file, [Name], Me, Location) ->
    case file(open, [Name, [read, binary, raw]], Me, Location) of
        {ok, Fd} ->
            Read = with(Me, Fd, ?READ, Location, fun(_, #inode{content = Content}) -> {ok, Content} end),
            file(close, [Fd], Me, Location),
            Read;
        Error -> Error
    end;
file(write_file, [Name, Data], Me, Location) -> file(write_file, [Name, Data, []], Me, Location);
file(write_file, [Name, Data, Modes], Me, Location) ->
    Bytes = try iolist_to_binary(Data) catch error:_ -> erlang:error(badarg) end,
    case file(open, [Name, [write, binary, raw | Modes -- [raw, write]]], Me, Location) of
        {ok, Fd} ->
            ok = file(write, [Fd, Bytes], Me, Location),
            lists:member(sync, Modes) andalso file(sync, [Fd], Me, Location),
            file(close, [Fd], Me, Location);
        Error -> Error
    end;
file(delete, [Name], Me, Location) ->
    Path = path(Name),
    at_change(Me, Path, Location),
    case entry(Me, Path) of
        none -> {error, enoent};
        directory -> {error, eperm};
        _ -> delete_entry(Me, Path), ok
    end;
file(rename, [From, To], Me, Location) -> rename(Me, path(From), path(To), Location);
file(make_dir, [Name], Me, Location) ->
    Path = path(Name),
    at_change(Me, Path, Location),
    case {entry(Me, Path), entry(Me, filename:dirname(Path))} of
        {none, directory} -> put_entry(Me, Path, directory), ok;
        {none, none} -> {error, enoent};
        {none, _} -> {error, enotdir};
        _ -> {error, eexist}
    end;
file(del_dir, [Name], Me, Location) ->
    Path = path(Name),
    at_change(Me, Path, Location),
    case {entry(Me, Path), children(Me, Path)} of
        {none, _} -> {error, enoent};
        {directory, []} -> delete_entry(Me, Path), ok;
        {directory, _} -> {error, eexist};
        _ -> {error, enotdir}
    end;
file(list_dir, [Name], Me, Location) ->
    Path = path(Name),
    at(Me, ?READ, ?READS(object(Me, Path)), ?NONE, Location),
    case entry(Me, Path) of
        directory -> {ok, children(Me, Path)};
        none -> {error, enoent};
        _ -> {error, enotdir}
    end;
file(F, [Name], Me, Location) when F =:= read_file_info; F =:= read_link_info -> info(Me, Name, [], Location);
file(F, [Name, Options], Me, Location) when F =:= read_file_info; F =:= read_link_info -> info(Me, Name, Options, Location);
file(F, A, _, Location) -> raddle_turn:refuse({file, F, length(A)}, A, Location).

%% ---- open files

open(Me, Path, Modes, Location) ->
    Writes = lists:member(write, Modes) orelse lists:member(append, Modes) orelse lists:member(exclusive, Modes),
    Reads = lists:member(read, Modes) orelse not Writes,
    lists:member(compressed, Modes) andalso raddle_turn:refuse({file, open, 2}, [Path, Modes], Location),
    Known = entry(Me, Path),
    %% A file opened only for writing is truncated.
    Anew = Writes andalso not Reads andalso not lists:member(append, Modes) andalso not lists:member(exclusive, Modes),
    case Known of
        none when Writes -> at_change(Me, Path, Location);
        {_, _} when Anew -> at(Me, ?WRITE, ?WRITES(object(Me, Known)), looks(Me, Path), Location);
        _ -> at(Me, ?READ, looks(Me, Path), ?NONE, Location)
    end,
    case {entry(Me, Path), entry(Me, filename:dirname(Path))} of
        {Other, _} when Other =/= Known -> open(Me, Path, Modes, Location); % The operation was only a lookup of the name.
        {none, directory} when Writes -> opened(Me, new_inode(Me, Path), Modes);
        {none, _} -> {error, enoent};
        {directory, _} -> {error, eisdir};
        {Number, _} ->
            case lists:member(exclusive, Modes) of
                true -> {error, eexist};
                false ->
                    Anew andalso change(Me, inode(Me, Number), {truncate, 0}),
                    opened(Me, Number, Modes)
            end
    end.

opened(#me{table = Table, node = Node} = Me, Number, Modes) ->
    Fd = {'$raddle_file', raddle_table:reference(Me)},
    ets:insert(Table, #fd{key = Fd, node = Node, inode = Number, modes = Modes}),
    {ok, Fd}.

fd(#me{table = Table}, {'$raddle_file', _} = Fd) ->
    case ets:lookup(Table, Fd) of
        [Open] -> Open;
        [] -> none
    end;
fd(_, _) -> none.

with(Me, Fd, Kind, Location, Do) ->
    case fd(Me, Fd) of
        #fd{inode = Number} = Open ->
            Content = object(Me, Number),
            at(Me, Kind, case Kind of ?READ -> ?READS(Content); _ -> ?WRITES(Content) end, own(Me, Open), Location),
            case fd(Me, Fd) of
                none -> {error, einval}; % Another process has closed it.
                Now -> Do(Now, inode(Me, Number))
            end;
        none -> {error, einval}
    end.

%% Several processes may use a file that is not raw, and they share its position.
own(Me, #fd{key = {_, Reference}, modes = Modes}) ->
    case lists:member(raw, Modes) of
        true -> ?NONE;
        false -> ?WRITES(raddle_table:object(Me, {open_file, Reference}))
    end.

move(#me{table = Table}, #fd{} = Open, At) -> ets:insert(Table, Open#fd{position = At}).

seek(Me, #fd{position = At} = Open, #inode{content = Content}, Where) ->
    End = byte_size(Content),
    New = case Where of
              bof -> 0;
              cur -> At;
              eof -> End;
              {bof, Offset} -> Offset;
              {cur, Offset} -> At + Offset;
              {eof, Offset} -> End + Offset;
              Offset -> Offset
          end,
    case New >= 0 of
        true -> move(Me, Open, New), {ok, New};
        false -> {error, einval}
    end.

part(#fd{modes = Modes}, #inode{content = Content}, At, Count) ->
    Size = byte_size(Content),
    case At >= Size andalso Count > 0 of
        true -> eof;
        false ->
            Data = binary:copy(binary:part(Content, min(At, Size), min(Count, max(0, Size - At)))),
            {ok, case lists:member(binary, Modes) of true -> Data; false -> binary_to_list(Data) end}
    end.

change(#me{table = Table}, #inode{content = Content, pending = Pending} = Inode, Write) ->
    ets:insert(Table, Inode#inode{content = written(Write, Content), pending = [Write | Pending]}).

written({truncate, Size}, Content) when Size =< byte_size(Content) -> binary:part(Content, 0, Size);
written({truncate, Size}, Content) -> <<Content/binary, 0:((Size - byte_size(Content)) * 8)>>;
written({write, At, Bytes}, Content) when At > byte_size(Content) -> written({write, At, Bytes}, written({truncate, At}, Content));
written({write, At, Bytes}, Content) ->
    End = At + byte_size(Bytes),
    <<Before:At/binary, _/binary>> = Content,
    After = if End < byte_size(Content) -> binary:part(Content, End, byte_size(Content) - End); true -> <<>> end,
    <<Before/binary, Bytes/binary, After/binary>>.

%% ---- whole files

copy(Me, From, To, Location) ->
    Open = fun(What, Mode) ->
               case What of
                   {'$raddle_file', _} -> {ok, What, fun() -> ok end};
                   _ ->
                       {Name, Modes} = case What of {_, Given} when is_list(Given) -> What; _ -> {What, []} end,
                       case file(open, [Name, [Mode, binary | Modes]], Me, Location) of
                           {ok, Fd} -> {ok, Fd, fun() -> file(close, [Fd], Me, Location) end};
                           Error -> Error
                       end
               end
           end,
    case Open(From, read) of
        {ok, In, CloseIn} ->
            Result = case Open(To, write) of
                         {ok, Out, CloseOut} ->
                             Data = with(Me, In, ?READ, Location, fun(#fd{position = At} = Fd, #inode{content = Content}) ->
                                 move(Me, Fd, byte_size(Content)),
                                 binary:part(Content, min(At, byte_size(Content)), max(0, byte_size(Content) - At))
                             end),
                             ok = file(write, [Out, Data], Me, Location),
                             CloseOut(),
                             {ok, byte_size(Data)};
                         Error -> Error
                     end,
            CloseIn(),
            Result;
        Error -> Error
    end.

%% A directory moves with its contents. The operation touches the names next to both; a search also sees the
%% names inside, before it and after it.
rename(#me{searches = Searches} = Me, From, To, Location) ->
    Inside = case Searches of true -> inside(Me, From, To); false -> [] end,
    [at(Me, ?WRITE, ?WRITES(object(Me, Name)), ?NONE, Location) || Name <- Inside],
    Beside = ?WRITES(object(Me, filename:dirname(From))),
    case ?WRITES(object(Me, filename:dirname(To))) of
        Beside -> at(Me, ?WRITE, Beside, ?NONE, Location);
        Other -> at(Me, ?WRITE, Beside, Other, Location)
    end,
    Renamed = rename(Me, From, To),
    [at(Me, ?WRITE, ?WRITES(object(Me, Name)), ?NONE, Location) || Name <- Inside],
    Renamed.

inside(#me{table = Table, node = Node}, From, To) ->
    Old = [Name || [Name] <- ets:match(Table, {file, {file, Node, '$1'}, directory}), lists:prefix(From ++ "/", Name)],
    lists:usort([From, To | Old] ++ [moved(From, To, Name) || Name <- Old]).

moved(From, To, Name) -> To ++ lists:nthtail(length(From), Name).

rename(#me{table = Table, node = Node} = Me, From, To) ->
    case {entry(Me, From), entry(Me, filename:dirname(To))} of
        {none, _} -> {error, enoent};
        {_, none} -> {error, enoent};
        {directory, _} ->
            [begin
                 delete_entry(Me, Name),
                 put_entry(Me, moved(From, To, Name), Entry)
             end || [Name, Entry] <- ets:match(Table, {file, {file, Node, '$1'}, '$2'}), Name =:= From orelse lists:prefix(From ++ "/", Name)],
            ok;
        {Entry, _} ->
            delete_entry(Me, From),
            put_entry(Me, To, Entry),
            ok
    end.

info(Me, {'$raddle_file', _} = Fd, Options, Location) ->
    with(Me, Fd, ?READ, Location, fun(_, #inode{content = Content}) -> {ok, details(regular, byte_size(Content), Options, Location)} end);
info(Me, Name, Options, Location) ->
    Path = path(Name),
    at(Me, ?READ, looks(Me, Path), ?NONE, Location),
    case entry(Me, Path) of
        none -> {error, enoent};
        directory -> {ok, details(directory, 4096, Options, Location)};
        Number ->
            at(Me, ?READ, ?READS(object(Me, Number)), ?NONE, Location),
            #inode{content = Content} = inode(Me, Number),
            {ok, details(regular, byte_size(Content), Options, Location)}
    end.

%% Files have no timestamps: all have the current time.
details(Type, Size, Options, Location) ->
    Time = case proplists:get_value(time, Options, local) of
               posix -> raddle_time:system_time(second, Location);
               _ -> raddle_time:universaltime(Location)
           end,
    Mode = case Type of directory -> 8#40755; regular -> 8#100644 end,
    {file_info, Size, Type, read_write, Time, Time, Time, Mode, 1, 0, 0, 0, 0, 0}.

%% ---- crashes

%% Handles a crash of the node: unsynced writes reach the disk until the restart.
crashed(#me{session = Session, table = Table, actor = Actor} = Me, Node) ->
    ets:match_delete(Table, #fd{node = Node, _ = '_'}),
    [begin
         Task = raddle_nif:add_task(Session, max(Actor, 0), ?WRITE, ?AT_CARRIER, touches(Me, Node)),
         ets:insert(Table, [{actor, {actor, Task}, {writes, Number}},
                            {actor_name, {actor_name, Task}, io_lib:format("disk of ~ts", [Node])}])
     end || #inode{key = {inode, Number}, pending = [_ | _]} <- lists:sort(ets:match_object(Table, #inode{node = Node, _ = '_'}))],
    ok.

touches(Me, Node) -> {?WRITES(raddle_table:object(Me, {node, Node})), ?NONE}.

%% Moves the first write that is not on the disk there. Returns the next operation of this actor, or done.
persist(#me{table = Table} = Me, {Node, _} = Number) ->
    case {ets:member(Table, {down, Node}), ets:lookup(Table, {inode, Number})} of
        {true, [#inode{stable = Stable, pending = [_ | _] = Pending} = Inode]} ->
            Rest = lists:droplast(Pending),
            ets:insert(Table, Inode#inode{stable = written(lists:last(Pending), Stable), pending = Rest}),
            case Rest of
                [] -> done;
                _ -> {First, Second} = touches(Me, Node), {?WRITE, First, Second}
            end;
        _ -> done
    end.

%% Unsynced writes are now lost.
restarted(#me{table = Table}, Node) ->
    [ets:insert(Table, Inode#inode{content = Stable, pending = []})
     || #inode{stable = Stable} = Inode <- ets:match_object(Table, #inode{node = Node, _ = '_'})],
    ok.
