%% What a program prints. The engine keeps the end of it, to be told with a run that fails; it is no operation. A process of the program that
%% takes part in the protocol of io, as a device or as a group leader, is asked by OTP's own code.
-module(raddle_io).
-export([call/3, log/2, printed/1, told/1]).
-include("raddle_run.hrl").

%% A call of a function of io.
call(F, [{'$raddle_file', _} | _] = A, Place) -> refuse(F, A, Place);
call(F, [], _) when F =:= columns; F =:= rows -> {error, enotsup};
call(F, A, Place) ->
    case prints(F, A) of
        {Device, Text} ->
            case taker(Device) of
                none -> print(Text());
                _ -> erlang:apply('~io', F, A)
            end;
        none ->
            case A of
                [Device | _] when is_pid(Device) -> erlang:apply('~io', F, A);
                _ -> refuse(F, A, Place)
            end
    end.

refuse(F, A, Place) -> raddle_allow:call(io, F, A, Place).

%% Where a function prints to, and what.
prints(F, [Format]) when F =:= format; F =:= fwrite -> {standard_io, fun() -> format(Format, []) end};
prints(F, [Format, Arguments]) when F =:= format; F =:= fwrite -> {standard_io, fun() -> format(Format, Arguments) end};
prints(F, [Device, Format, Arguments]) when F =:= format; F =:= fwrite -> {Device, fun() -> format(Format, Arguments) end};
prints(put_chars, [Chars]) -> {standard_io, fun() -> Chars end};
prints(put_chars, [Device, Chars]) -> {Device, fun() -> Chars end};
prints(put_chars, [Device, Encoding, Chars]) -> {Device, fun() -> unicode:characters_to_list(Chars, Encoding) end};
prints(nl, []) -> {standard_io, fun() -> "\n" end};
prints(nl, [Device]) -> {Device, fun() -> "\n" end};
prints(write, [Term]) -> {standard_io, fun() -> io_lib:write(Term) end};
prints(write, [Device, Term]) -> {Device, fun() -> io_lib:write(Term) end};
prints(_, _) -> none.

%% The process of the program that takes what is printed to a device, or none. The leader of the test is no process of the program, and one that leads
%% itself is the master of an application, who would hand it on to that.
taker(Device) when Device =:= user; Device =:= standard_error -> none;
taker(standard_io) ->
    #me{table = Table, pid = Pid} = raddle_turn:me(),
    taker((raddle_table:process(Table, Pid))#process.leader);
taker(Pid) when is_pid(Pid) ->
    case raddle_table:process((raddle_turn:me())#me.table, Pid) of
        #process{leader = Pid} -> none;
        none -> case raddle_info:number(Pid) of 1 -> none; _ -> Pid end;
        _ -> Pid
    end;
taker(Name) -> Name.

%% A text, with maps in the order of their keys (see raddle_map).
-if(?OTP_RELEASE >= 26).
format(Format, Arguments) ->
    Ordered = fun(#{maps_order := undefined} = Part) -> Part#{maps_order => ordered}; (Part) -> Part end,
    io_lib:build_text([Ordered(Part) || Part <- io_lib:scan_format(Format, Arguments)]).
-else.
format(Format, Arguments) -> io_lib:format(Format, Arguments).
-endif.

print(Chars) ->
    case unicode:characters_to_binary(Chars) of
        Text when is_binary(Text) -> raddle_nif:print((raddle_turn:me())#me.session, Text), ok;
        _ -> erlang:error(badarg)
    end.

%% What is logged, in a line of its own.
log(Level, Text) ->
    raddle_nif:print((raddle_turn:me())#me.session, unicode:characters_to_binary([atom_to_list(Level), ": ", Text, "\n"])).

%% What the program has printed in the run of a session, as it is in every VM (see raddle_report:plain/1); what only looks like a part of a pid
%% stays as it is.
printed(Session) ->
    case raddle_nif:printed(Session) of
        <<>> -> <<>>;
        Text ->
            Pids = re:replace(Text, "<[0-9]+(\\.[0-9]+\\.[0-9]+>)", "<0\\g{1}", [global, unicode, {return, binary}]),
            re:replace(Pids, "#Ref<[0-9]+\\.", "#Ref<0.", [global, unicode, {return, binary}])
    end.

%% The same for a person, after something else.
told(<<>>) -> "";
told(Text) -> ["\nIt printed:\n", [["  ", Line, "\n"] || Line <- binary:split(string:trim(Text, trailing, "\n"), <<"\n">>, [global])]].
