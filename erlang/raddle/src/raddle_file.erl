%% Files, on a disk of each node that outlives its crashes. Names, directories and the existence of files are on the disk at once; what is
%% written to a file is there for everybody at once, but survives a crash for sure only if the file was synced. Of what was written after that any
%% number of the first writes of each file survives: between the crash and the restart of a node an actor for each file brings one write after
%% the other to the disk.
-module(raddle_file).
-export([call/3, crashed/2, persist/2, restarted/2]).
-include("raddle_run.hrl").

%% The content of a file: as everybody sees it, as it is on the disk for sure, and the writes that make the first out of the second, latest first.
-record(inode, {key, node, content = <<>>, stable = <<>>, pending = []}).
-record(fd, {key, node, inode, position = 0, modes}).

-define(HOME, "/home").

%% ---- which file

path(Name) ->
    Absolute = filename:absname(filename:join([lists:flatten(string:replace(to_list(Name), "//", "/", all))]), ?HOME),
    filename:join(lists:foldl(fun step/2, [], filename:split(Absolute))).

%% There are no links, so a path without dots names the same.
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
at(#me{node = Node} = Me, Kind, First, ?NONE, Place) -> raddle_turn:step(Me, Kind, Place, First, ?READS(raddle_table:object(Me, {node, Node})));
at(#me{node = Node} = Me, Kind, First, Second, Place) ->
    raddle_turn:step(Me, Kind, Place, First, Second, ?READS(raddle_table:object(Me, {node, Node}))).

%% The names in a directory, be it there or not, and the content of a file.
object(#me{node = Node} = Me, What) -> raddle_table:object(Me, {disk, Node, What}).

%% A look at what a path names touches the names beside it. Whatever changes that changes the names in it, too: they can be reached, or not.
looks(Me, Path) -> ?READS(object(Me, filename:dirname(Path))).

at_change(Me, Path, Place) ->
    Names = ?WRITES(object(Me, Path)),
    Beside = case ?WRITES(object(Me, filename:dirname(Path))) of
                 Names -> ?NONE;
                 Other -> Other
             end,
    at(Me, ?WRITE, Names, Beside, Place).

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

%% It is known by the path under which it was made, and the how manieth there: that does not depend on what others do elsewhere.
new_inode(#me{table = Table, node = Node} = Me, Path) ->
    Number = {Path, raddle_table:count(Table, {inodes, Node, Path})},
    ets:insert(Table, #inode{key = {inode, {Node, Number}}, node = Node}),
    put_entry(Me, Path, {Node, Number}),
    {Node, Number}.

%% ---- the functions of file

call(F, A, Place) -> file(F, A, raddle_turn:me(), Place).

file(format_error, [Why], _, _) -> file:format_error(Why);
file(native_name_encoding, [], _, _) -> utf8;
file(get_cwd, [], _, _) -> {ok, ?HOME};
file(open, [Name, Modes], Me, Place) when is_list(Modes) -> open(Me, path(Name), Modes, Place);
file(open, [Name, Mode], Me, Place) when is_atom(Mode) -> open(Me, path(Name), [Mode], Place);
file(close, [Fd], #me{table = Table} = Me, Place) ->
    case fd(Me, Fd) of
        #fd{key = Key} = Open ->
            own(Me, Open) =:= ?NONE orelse at(Me, ?WRITE, own(Me, Open), ?NONE, Place),
            case ets:member(Table, Key) of
                true -> ets:delete(Table, Key), ok;
                false -> {error, einval}
            end;
        none -> {error, einval}
    end;
file(position, [Fd, Where], Me, Place) -> with(Me, Fd, ?READ, Place, fun(Open, Inode) -> seek(Me, Open, Inode, Where) end);
file(read, [Fd, Count], Me, Place) ->
    with(Me, Fd, ?READ, Place, fun(#fd{position = At} = Open, Inode) ->
        Read = part(Open, Inode, At, Count),
        move(Me, Open, case Read of {ok, Data} -> At + iolist_size(Data); eof -> At end),
        Read
    end);
file(pread, [Fd, At, Count], Me, Place) -> with(Me, Fd, ?READ, Place, fun(Open, Inode) -> part(Open, Inode, At, Count) end);
file(pread, [Fd, Parts], Me, Place) ->
    with(Me, Fd, ?READ, Place, fun(Open, Inode) ->
        {ok, [case part(Open, Inode, At, Count) of {ok, Data} -> Data; eof -> eof end || {At, Count} <- Parts]}
    end);
file(write, [Fd, Data], Me, Place) ->
    with(Me, Fd, ?WRITE, Place, fun(#fd{position = At, modes = Modes} = Open, #inode{content = Content} = Inode) ->
        Where = case lists:member(append, Modes) of true -> byte_size(Content); false -> At end,
        Bytes = iolist_to_binary(Data),
        change(Me, Inode, {write, Where, Bytes}),
        move(Me, Open, Where + byte_size(Bytes)),
        ok
    end);
file(pwrite, [Fd, At, Data], Me, Place) -> file(pwrite, [Fd, [{At, Data}]], Me, Place);
file(pwrite, [Fd, Parts], #me{} = Me, Place) ->
    with(Me, Fd, ?WRITE, Place, fun(_, #inode{key = {inode, Number}}) ->
        [change(Me, inode(Me, Number), {write, At, iolist_to_binary(Data)}) || {At, Data} <- Parts],
        ok
    end);
file(truncate, [Fd], Me, Place) ->
    with(Me, Fd, ?WRITE, Place, fun(#fd{position = At}, Inode) -> change(Me, Inode, {truncate, At}), ok end);
file(Sync, [Fd], #me{table = Table} = Me, Place) when Sync =:= sync; Sync =:= datasync ->
    with(Me, Fd, ?WRITE, Place, fun(_, #inode{content = Content} = Inode) ->
        ets:insert(Table, Inode#inode{stable = Content, pending = []}),
        ok
    end);
file(advise, _, _, _) -> ok;
file(allocate, _, _, _) -> ok;
file(ipread_s32bu_p32bu, [Fd, At, Most], Me, Place) ->
    with(Me, Fd, ?READ, Place, fun(Open, Inode) ->
        case part(Open#fd{modes = [binary]}, Inode, At, 8) of
            {ok, <<0:32, Where:32>>} -> {ok, {0, Where, eof}};
            {ok, <<Size:32, Where:32>>} when Size =< Most -> {ok, {Size, Where, case part(Open, Inode, Where, Size) of {ok, Data} -> Data; eof -> eof end}};
            _ -> eof
        end
    end);
file(copy, [From, To], Me, Place) -> copy(Me, From, To, Place);
file(read_file, [Name, Options], Me, Place) when Options =:= []; Options =:= [raw] -> file(read_file, [Name], Me, Place);
file(read_file, [Name], Me, Place) ->
    case file(open, [Name, [read, binary, raw]], Me, Place) of
        {ok, Fd} ->
            Read = with(Me, Fd, ?READ, Place, fun(_, #inode{content = Content}) -> {ok, Content} end),
            file(close, [Fd], Me, Place),
            Read;
        Error -> Error
    end;
file(write_file, [Name, Data], Me, Place) -> file(write_file, [Name, Data, []], Me, Place);
file(write_file, [Name, Data, Modes], Me, Place) ->
    Bytes = try iolist_to_binary(Data) catch error:_ -> erlang:error(badarg) end,
    case file(open, [Name, [write, binary, raw | Modes -- [raw, write]]], Me, Place) of
        {ok, Fd} ->
            ok = file(write, [Fd, Bytes], Me, Place),
            lists:member(sync, Modes) andalso file(sync, [Fd], Me, Place),
            file(close, [Fd], Me, Place);
        Error -> Error
    end;
file(delete, [Name], Me, Place) ->
    Path = path(Name),
    at_change(Me, Path, Place),
    case entry(Me, Path) of
        none -> {error, enoent};
        directory -> {error, eperm};
        _ -> delete_entry(Me, Path), ok
    end;
file(rename, [From, To], Me, Place) -> rename(Me, path(From), path(To), Place);
file(make_dir, [Name], Me, Place) ->
    Path = path(Name),
    at_change(Me, Path, Place),
    case {entry(Me, Path), entry(Me, filename:dirname(Path))} of
        {none, directory} -> put_entry(Me, Path, directory), ok;
        {none, none} -> {error, enoent};
        {none, _} -> {error, enotdir};
        _ -> {error, eexist}
    end;
file(del_dir, [Name], Me, Place) ->
    Path = path(Name),
    at_change(Me, Path, Place),
    case {entry(Me, Path), children(Me, Path)} of
        {none, _} -> {error, enoent};
        {directory, []} -> delete_entry(Me, Path), ok;
        {directory, _} -> {error, eexist};
        _ -> {error, enotdir}
    end;
file(list_dir, [Name], Me, Place) ->
    Path = path(Name),
    at(Me, ?READ, ?READS(object(Me, Path)), ?NONE, Place),
    case entry(Me, Path) of
        directory -> {ok, children(Me, Path)};
        none -> {error, enoent};
        _ -> {error, enotdir}
    end;
file(F, [Name], Me, Place) when F =:= read_file_info; F =:= read_link_info -> info(Me, Name, [], Place);
file(F, [Name, Options], Me, Place) when F =:= read_file_info; F =:= read_link_info -> info(Me, Name, Options, Place);
file(F, A, _, Place) -> raddle_turn:refuse({file, F, length(A)}, A, Place).

%% ---- open files

open(Me, Path, Modes, Place) ->
    Writes = lists:member(write, Modes) orelse lists:member(append, Modes) orelse lists:member(exclusive, Modes),
    Reads = lists:member(read, Modes) orelse not Writes,
    lists:member(compressed, Modes) andalso raddle_turn:refuse({file, open, 2}, [Path, Modes], Place),
    Known = entry(Me, Path),
    %% A file that is only written begins anew.
    Anew = Writes andalso not Reads andalso not lists:member(append, Modes) andalso not lists:member(exclusive, Modes),
    case Known of
        none when Writes -> at_change(Me, Path, Place);
        {_, _} when Anew -> at(Me, ?WRITE, ?WRITES(object(Me, Known)), looks(Me, Path), Place);
        _ -> at(Me, ?READ, looks(Me, Path), ?NONE, Place)
    end,
    case {entry(Me, Path), entry(Me, filename:dirname(Path))} of
        {Other, _} when Other =/= Known -> open(Me, Path, Modes, Place); % It was only a look at the name.
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

with(Me, Fd, Kind, Place, Do) ->
    case fd(Me, Fd) of
        #fd{inode = Number} = Open ->
            Content = object(Me, Number),
            at(Me, Kind, case Kind of ?READ -> ?READS(Content); _ -> ?WRITES(Content) end, own(Me, Open), Place),
            case fd(Me, Fd) of
                none -> {error, einval}; % Another process has closed it.
                Now -> Do(Now, inode(Me, Number))
            end;
        none -> {error, einval}
    end.

%% Several processes may use a file that is not raw, and its position is one for all of them.
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

copy(Me, From, To, Place) ->
    Open = fun(What, Mode) ->
               case What of
                   {'$raddle_file', _} -> {ok, What, fun() -> ok end};
                   _ ->
                       {Name, Modes} = case What of {_, Given} when is_list(Given) -> What; _ -> {What, []} end,
                       case file(open, [Name, [Mode, binary | Modes]], Me, Place) of
                           {ok, Fd} -> {ok, Fd, fun() -> file(close, [Fd], Me, Place) end};
                           Error -> Error
                       end
               end
           end,
    case Open(From, read) of
        {ok, In, CloseIn} ->
            Result = case Open(To, write) of
                         {ok, Out, CloseOut} ->
                             Data = with(Me, In, ?READ, Place, fun(#fd{position = At} = Fd, #inode{content = Content}) ->
                                 move(Me, Fd, byte_size(Content)),
                                 binary:part(Content, min(At, byte_size(Content)), max(0, byte_size(Content) - At))
                             end),
                             ok = file(write, [Out, Data], Me, Place),
                             CloseOut(),
                             {ok, byte_size(Data)};
                         Error -> Error
                     end,
            CloseIn(),
            Result;
        Error -> Error
    end.

%% A directory moves with what is in it. The operation touches the names beside both; a search is told of the names inside, before it and after it.
rename(#me{searches = Searches} = Me, From, To, Place) ->
    Inside = case Searches of true -> inside(Me, From, To); false -> [] end,
    [at(Me, ?WRITE, ?WRITES(object(Me, Name)), ?NONE, Place) || Name <- Inside],
    Beside = ?WRITES(object(Me, filename:dirname(From))),
    case ?WRITES(object(Me, filename:dirname(To))) of
        Beside -> at(Me, ?WRITE, Beside, ?NONE, Place);
        Other -> at(Me, ?WRITE, Beside, Other, Place)
    end,
    Renamed = rename(Me, From, To),
    [at(Me, ?WRITE, ?WRITES(object(Me, Name)), ?NONE, Place) || Name <- Inside],
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

info(Me, {'$raddle_file', _} = Fd, Options, Place) ->
    with(Me, Fd, ?READ, Place, fun(_, #inode{content = Content}) -> {ok, details(regular, byte_size(Content), Options, Place)} end);
info(Me, Name, Options, Place) ->
    Path = path(Name),
    at(Me, ?READ, looks(Me, Path), ?NONE, Place),
    case entry(Me, Path) of
        none -> {error, enoent};
        directory -> {ok, details(directory, 4096, Options, Place)};
        Number ->
            at(Me, ?READ, ?READS(object(Me, Number)), ?NONE, Place),
            #inode{content = Content} = inode(Me, Number),
            {ok, details(regular, byte_size(Content), Options, Place)}
    end.

%% Files have no times of their own: all are of now.
details(Type, Size, Options, Place) ->
    Time = case proplists:get_value(time, Options, local) of
               posix -> raddle_time:system_time(second, Place);
               _ -> raddle_time:universaltime(Place)
           end,
    Mode = case Type of directory -> 8#40755; regular -> 8#100644 end,
    {file_info, Size, Type, read_write, Time, Time, Time, Mode, 1, 0, 0, 0, 0, 0}.

%% ---- crashes

%% The node is no more: what it wrote and did not sync comes to the disk in the time that is left.
crashed(#me{session = Session, table = Table, actor = Actor} = Me, Node) ->
    ets:match_delete(Table, #fd{node = Node, _ = '_'}),
    [begin
         Errand = raddle_nif:add_errand(Session, max(Actor, 0), ?WRITE, ?AT_CARRIER, touches(Me, Node)),
         ets:insert(Table, [{actor, {actor, Errand}, {writes, Number}},
                            {actor_name, {actor_name, Errand}, io_lib:format("disk of ~ts", [Node])}])
     end || #inode{key = {inode, Number}, pending = [_ | _]} <- lists:sort(ets:match_object(Table, #inode{node = Node, _ = '_'}))],
    ok.

touches(Me, Node) -> {?WRITES(raddle_table:object(Me, {node, Node})), ?NONE}.

%% Brings the first write that is not on the disk there. The answer is the next operation of this actor, or done.
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

%% What is not on the disk by now is lost.
restarted(#me{table = Table}, Node) ->
    [ets:insert(Table, Inode#inode{content = Stable, pending = []})
     || #inode{stable = Stable} = Inode <- ets:match_object(Table, #inode{node = Node, _ = '_'})],
    ok.
