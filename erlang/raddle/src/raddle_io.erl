%% Output of a program. The engine stores its end, for the report of a failing run; it is not an operation.
%% OTP's own code communicates with processes of the program that implement the io protocol, as a device or as
%% a group leader.
-module(raddle_io).
-export([call/3, log/2, printed/1, section/1]).
-include("raddle_run.hrl").

%% Handles a call of a function of io.
call(F, [{'$raddle_file', _} | _] = A, Location) -> refuse(F, A, Location);
call(F, [], _) when F =:= columns; F =:= rows -> {error, enotsup};
call(F, A, Location) ->
    case prints(F, A) of
        {Device, Text} ->
            case taker(Device) of
                none -> print(Text());
                _ -> erlang:apply('~io', F, A)
            end;
        none ->
            case A of
                [Device | _] when is_pid(Device) -> erlang:apply('~io', F, A);
                _ -> refuse(F, A, Location)
            end
    end.

refuse(F, A, Location) -> raddle_allow:call(io, F, A, Location).

%% Returns the device of an io function, and its text.
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

%% Returns the process of the program that receives output to a device, or none. The leader of the test is not
%% a process of the program, and one that leads itself is an application master, which would forward it there.
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

%% Formats a text, with maps in the order of their keys (see raddle_map).
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

%% Records a log line.
log(Level, Text) ->
    raddle_nif:print((raddle_turn:me())#me.session, unicode:characters_to_binary([atom_to_list(Level), ": ", Text, "\n"])).

%% Returns the output of the program in the run of a session, in a form that is the same in every VM (see
%% raddle_report:plain/1); text that only looks like a part of a pid is unchanged.
printed(Session) ->
    case raddle_nif:printed(Session) of
        <<>> -> <<>>;
        Text ->
            Pids = re:replace(Text, "<[0-9]+(\\.[0-9]+\\.[0-9]+>)", "<0\\g{1}", [global, unicode, {return, binary}]),
            re:replace(Pids, "#Ref<[0-9]+\\.", "#Ref<0.", [global, unicode, {return, binary}])
    end.

%% Formats the output for a report.
section(<<>>) -> "";
section(Text) -> ["\nIt printed:\n", [["  ", Line, "\n"] || Line <- binary:split(string:trim(Text, trailing, "\n"), <<"\n">>, [global])]].
