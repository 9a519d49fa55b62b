%% Tables of ETS. An access to one key is an operation on that key, and one that looks at the whole table is dependent on all that
%% write to it. A private table can be noticed by nobody, so its accesses are no operations.
%%
%% Objects: the keys, `content` (read by writes of one key) and `structure` (read by reads of one key). A look at the whole table
%% writes `content`, a change of the whole table writes both. So reads of keys and looks at the table are independent of each
%% other; two looks at the table count as dependent, which costs schedules and misses none. The structure of a named table is its name, which
%% outlives the table: to make it and to delete it are changes of the whole table.
%%
%% Which table there is and what an operation on it touches is found out before the operation, and again when it is executed. If that is not the same, the
%% operation was only a look.
-module(raddle_ets).
-export([call/3, owned/2, end_touches/3, owner_died/4, node_died/2, clear/1]).
-include("raddle_run.hrl").

-record(tab, {key, real, owner, rights, keypos, name, heir = none, ordered}).

%% ---- which table

key(#me{node = Node}, Name) when is_atom(Name) -> {table, {Node, Name}};
key(_, Reference) -> {table, Reference}.

look(#me{table = Table} = Me, Id) -> raddle_table:find(Table, key(Me, Id), none).

store(#me{table = Table}, #tab{key = Key} = Tab) -> ets:insert(Table, {table, Key, Tab}).

%% The table after an operation that touches it as Touches say; badarg if there is none by then.
at(Me, Id, Place, Kind, Touches) -> at(Me, Id, Place, Kind, Touches, ?NONE).
at(Me, Id, Place, Kind, Touches, Third) ->
    case visit(Me, Id, Place, Kind, Touches, Third) of
        none -> erlang:error(badarg);
        Tab -> Tab
    end.

%% The same; none if there is no table by then. Nobody notices what its owner does with a private table.
visit(Me, Id, Place, Kind, Touches, Third) ->
    case look(Me, Id) of
        none when is_atom(Id) ->
            raddle_turn:step(Me, ?READ, Place, ?READS(name(Me, Id))),
            case look(Me, Id) of
                none -> none;
                _ -> visit(Me, Id, Place, Kind, Touches, Third)
            end;
        none ->
            is_reference(Id) andalso raddle_turn:known(Me, Place, ?READS(structure(Me, #tab{key = key(Me, Id)}))),
            none;
        Tab ->
            case Touches(Tab) of
                nobody -> Tab;
                {First, Second} ->
                    raddle_turn:step(Me, Kind, Place, First, Second, Third),
                    case look(Me, Id) of
                        none -> none;
                        Now ->
                            case Touches(Now) of
                                {First, Second} -> Now;
                                _ -> visit(Me, Id, Place, Kind, Touches, Third)
                            end
                    end
            end
    end.

%% How an access touches a table.
shown(#me{pid = Pid}, #tab{rights = private, owner = Pid}, _) -> nobody;
shown(Me, #tab{rights = private} = Tab, _) -> {?WRITES(content(Me, Tab)), ?READS(structure(Me, Tab))}; % It matters who the owner is.
shown(#me{life = Life}, _, {First, ?NONE}) -> {First, ?READS(Life)};
shown(_, _, Touches) -> Touches.

name(#me{node = Node} = Me, Name) -> raddle_table:object(Me, {ets_name, Node, Name}).
content(Me, #tab{key = Key}) -> raddle_table:object(Me, {content, Key}).
structure(Me, #tab{key = {table, {Node, Name}}}) -> raddle_table:object(Me, {ets_name, Node, Name});
structure(Me, #tab{key = Key}) -> raddle_table:object(Me, {structure, Key}).
entry(Me, #tab{key = Key, ordered = Ordered}, Term) ->
    %% An ordered set takes 1 and 1.0 for the same key.
    Same = if
               Ordered, is_float(Term), trunc(Term) == Term -> trunc(Term);
               true -> Term
           end,
    raddle_table:object(Me, {entry, Key, Same}).

reads_key(Me, Key) -> fun(Tab) -> shown(Me, Tab, {?READS(entry(Me, Tab, Key)), ?READS(structure(Me, Tab))}) end.
writes_key(Me, Key) -> fun(Tab) -> shown(Me, Tab, {?WRITES(entry(Me, Tab, Key)), ?READS(content(Me, Tab))}) end.
reads_all(Me) -> fun(Tab) -> shown(Me, Tab, {?WRITES(content(Me, Tab)), ?NONE}) end.
writes_all(Me) -> fun(Tab) -> shown(Me, Tab, {?WRITES(content(Me, Tab)), ?WRITES(structure(Me, Tab))}) end.

%% The end of a table, which others notice even if it is private.
ends(Me) -> fun(Tab) -> {?WRITES(content(Me, Tab)), ?WRITES(structure(Me, Tab))} end.

%% What the end of a table touches, for the death of its owner: whether there is somebody who inherits it, and if not, the whole table.
end_touches(#me{table = Table} = Me, Key, Stage) ->
    case {raddle_table:find(Table, Key, none), Stage} of
        {none, _} -> {First, Second} = (ends(Me))(#tab{key = Key}), {?WRITE, First, Second};
        {#tab{heir = {Heir, _}} = Tab, table} ->
            Life = case raddle_table:objects(Table, Heir) of {_, Known} -> ?READS(Known); none -> ?NONE end,
            {?WRITE, ?WRITES(content(Me, Tab)), Life};
        {Tab, _} -> {First, Second} = (ends(Me))(Tab), {?WRITE, First, Second}
    end.

%% Returns what has to be done next for the table.
owner_died(#me{table = Table} = Me, Pid, Key, Stage) ->
    case {raddle_table:find(Table, Key, none), Stage} of
        {#tab{owner = Pid, heir = {Heir, Data}} = Tab, table} ->
            case raddle_table:process(Table, Heir) of
                #process{state = alive} ->
                    own(Me, Tab, Heir),
                    [{signal, Heir, {message, Heir, {'ETS-TRANSFER', id(Tab), Pid, Data}}}];
                _ -> [{drop, Key}]
            end;
        {#tab{owner = Pid} = Tab, _} -> drop(Me, Tab), [];
        _ -> []
    end.

%% All tables of a node go with it.
node_died(#me{table = Table} = Me, Node) ->
    [drop(Me, Tab) || [#tab{owner = Owner} = Tab] <- ets:match(Table, {table, '_', '$1'}), erlang:node(Owner) =:= Node],
    ok.

%% Deletes the real tables of a run that is over.
clear(Table) ->
    [catch ets:delete(Real) || [#tab{real = Real}] <- ets:match(Table, {table, '_', '$1'})],
    ok.

drop(#me{table = Table}, #tab{key = Key, real = Real, owner = Owner}) ->
    ets:delete(Table, Key),
    raddle_table:put_list(Table, {tables, Owner}, lists:delete(Key, raddle_table:list(Table, {tables, Owner}))),
    ets:delete(Real).

%% Gives a table to another owner.
own(#me{table = Table} = Me, #tab{key = Key, owner = From} = Tab, To) ->
    store(Me, Tab#tab{owner = To}),
    raddle_table:put_list(Table, {tables, From}, lists:delete(Key, raddle_table:list(Table, {tables, From}))),
    note_owner(Table, To, Key).

note_owner(Table, Pid, Key) ->
    ets:insert(Table, {list, {tables, Pid}, [Key | raddle_table:list(Table, {tables, Pid})]}),
    Ever = raddle_table:list(Table, {ever_owned, Pid}),
    lists:member(Key, Ever) orelse ets:insert(Table, {list, {ever_owned, Pid}, [Key | Ever]}).

%% The tables that go with a process. That one was deleted before is an operation of its own for a search: it might have been deleted after.
owned(#me{table = Table, searches = true}, Pid) -> raddle_table:list(Table, {ever_owned, Pid});
owned(#me{table = Table}, Pid) -> raddle_table:list(Table, {tables, Pid}).

id(#tab{key = {table, {_, Name}}}) -> Name;
id(#tab{key = {table, Reference}}) -> Reference.

%% ---- the functions of ets

call(new, [Name, Options], Place) when is_atom(Name), is_list(Options) -> new(raddle_turn:me(), Name, Options, Place);
call(whereis, [Name], Place) ->
    Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Place, ?READS(name(Me, Name))),
    case look(Me, Name) of
        none -> undefined;
        _ -> raddle_turn:refuse({ets, whereis, 1}, [Name], Place)
    end;
call(all, [], Place) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Place, ?WRITES(raddle_turn:roll(Me, tables))),
    lists:sort([id(Tab) || [#tab{owner = Owner} = Tab] <- ets:match(Table, {table, '_', '$1'}), erlang:node(Owner) =:= Node]);
call(info, [Id], Place) ->
    case info(Id, fun reads_all/1, Place) of
        none -> undefined;
        Tab -> [{Item, item(Tab, Item, Value)} || {Item, Value} <- ets:info(Tab#tab.real)]
    end;
call(info, [Id, Item], Place) ->
    Touches = case lists:member(Item, [size, memory, owner, heir]) of
                  true -> fun reads_all/1;
                  false -> fun(Me) -> fun(Tab) -> shown(Me, Tab, {?READS(structure(Me, Tab)), ?NONE}) end end
              end,
    case info(Id, Touches, Place) of
        none -> undefined;
        Tab -> item(Tab, Item, ets:info(Tab#tab.real, Item))
    end;
call(delete, [Id], Place) ->
    Me = raddle_turn:me(),
    drop(Me, may_write(Me, at(Me, Id, Place, ?WRITE, ends(Me), tables(Me)))),
    true;
call(give_away, [Id, To, Data], Place) when is_pid(To) ->
    %% Who may write to the table is part of its content.
    #me{pid = Pid, table = Table} = Me = raddle_turn:me(),
    {Mailbox, Life} = case raddle_table:objects(Table, To) of none -> {?NONE, ?NONE}; {Mail, Own} -> {?WRITES(Mail), ?READS(Own)} end,
    Tab = at(Me, Id, Place, ?WRITE, fun(Known) -> {?WRITES(content(Me, Known)), Mailbox} end, Life),
    Alive = case raddle_table:process(Table, To) of #process{state = State} -> State =:= alive; none -> false end,
    Tab#tab.owner =:= Pid andalso To =/= Pid andalso Alive orelse erlang:error(badarg),
    own(Me, Tab, To),
    raddle_signal:post(Me, To, {'ETS-TRANSFER', id(Tab), Pid, Data}),
    true;
call(setopts, [Id, Option], Place) ->
    #me{pid = Pid} = Me = raddle_turn:me(),
    Tab = at(Me, Id, Place, ?WRITE, fun(Known) -> {?WRITES(content(Me, Known)), ?READS(Me#me.life)} end),
    Tab#tab.owner =:= Pid orelse erlang:error(badarg),
    case lists:flatten([Option]) of
        [{heir, To, Data}] when is_pid(To) -> store(Me, Tab#tab{heir = {To, Data}});
        [{heir, none}] -> store(Me, Tab#tab{heir = none});
        _ -> erlang:error(badarg)
    end;
call(rename, [Id, Name], Place) -> raddle_turn:refuse({ets, rename, 2}, [Id, Name], Place);
call(safe_fixtable, [Id, Fix], Place) when is_boolean(Fix) ->
    Me = raddle_turn:me(),
    _ = at(Me, Id, Place, ?READ, fun(Tab) -> shown(Me, Tab, {?READS(structure(Me, Tab)), ?NONE}) end),
    true;
call(init_table, [Id, Fun], Place) when is_function(Fun, 1) ->
    %% The function may do operations of its own between what it gives.
    call(delete_all_objects, [Id], Place),
    fill(Id, Fun, Place);
call(Fold, [Fun, Start, Id], Place) when Fold =:= foldl; Fold =:= foldr ->
    %% One look at the whole table; the function may then do operations of its own.
    Me = raddle_turn:me(),
    Tab = may_read(Me, at(Me, Id, Place, ?READ, reads_all(Me))),
    lists:Fold(Fun, Start, perform(Tab, tab2list, []));
call(Function, Arguments, Place) ->
    case access(Function, Arguments) of
        pure when Function =:= repair_continuation, element(1, hd(Arguments)) =:= '$raddle_rest' -> hd(Arguments);
        pure -> erlang:apply(ets, Function, Arguments);
        continued ->
            %% What is left of a look at a table. One with an order is looked at anew.
            Me = raddle_turn:me(),
            case Arguments of
                [{'$raddle_rest', Rest, Most}] ->
                    raddle_turn:step(Me, ?YIELD, Place, ?NONE),
                    chunk(Rest, Most);
                [Continuation] ->
                    Content = case is_tuple(Continuation) andalso ets:match(Me#me.table, {table, '_', #tab{real = element(1, Continuation), key = '$1', _ = '_'}}) of
                                  [[Key]] -> ?WRITES(content(Me, #tab{key = Key}));
                                  _ -> ?NONE
                              end,
                    raddle_turn:step(Me, ?READ, Place, Content),
                    erlang:apply(ets, Function, Arguments)
            end;
        {key, Way, Term} -> access(Function, Arguments, Way, {key, Term}, Place);
        {object, Object} when is_tuple(Object) -> access(Function, Arguments, write, {object, Object}, Place);
        {all, Way} -> access(Function, Arguments, Way, all, Place);
        _ -> raddle_turn:refuse({ets, Function, length(Arguments)}, Arguments, Place)
    end.

fill(Id, Fun, Place) ->
    case Fun(read) of
        end_of_input -> true;
        {Objects, Next} when is_list(Objects), is_function(Next, 1) ->
            call(insert, [Id, Objects], Place),
            fill(Id, Next, Place);
        _ -> erlang:error(badarg)
    end.

access(Function, [Id | Rest], Way, What, Place) ->
    Me = raddle_turn:me(),
    Touches = fun(Tab) -> (touches(Me, Way, What, Tab))(Tab) end,
    Tab = at(Me, Id, Place, case Way of read -> ?READ; write -> ?WRITE end, Touches),
    case Way of
        read -> may_read(Me, Tab);
        write -> may_write(Me, Tab)
    end,
    perform(Tab, Function, Rest).

%% The function on the real table. Without an order of its own a table is gone through in the order of terms, as that of the host depends on which atoms it
%% has met and when.
perform(#tab{real = Real, ordered = true}, Function, Rest) -> erlang:apply(ets, Function, [Real | Rest]);
perform(#tab{real = Real, keypos = Keypos} = Tab, Function, Rest) ->
    Keys = fun() -> raddle_table:sorted(maps:keys(maps:from_keys([element(Keypos, Object) || Object <- ets:tab2list(Real)], true))) end,
    First = fun([]) -> '$end_of_table'; ([Key | _]) -> Key end,
    case {Function, Rest} of
        {tab2list, []} -> raddle_table:sorted(ets:tab2list(Real));
        {Look, [Spec]} when Look =:= match; Look =:= match_object; Look =:= select; Look =:= select_reverse ->
            raddle_table:sorted(ets:Look(Real, Spec));
        {Look, [Spec, Most]} when Look =:= match; Look =:= match_object; Look =:= select; Look =:= select_reverse ->
            chunk(raddle_table:sorted(ets:Look(Real, Spec)), Most);
        {first, []} -> First(Keys());
        {last, []} -> First(lists:reverse(Keys()));
        {next, [Key]} -> First(after_key(Key, Keys(), fun(Other) -> Other > Key end));
        {prev, [Key]} -> First(after_key(Key, lists:reverse(Keys()), fun(Other) -> Other < Key end));
        {slot, [0]} -> raddle_table:sorted(ets:tab2list(Real));
        {slot, [_]} -> '$end_of_table';
        {first_lookup, []} -> with_objects(Tab, first, []);
        {last_lookup, []} -> with_objects(Tab, last, []);
        {next_lookup, [Key]} -> with_objects(Tab, next, [Key]);
        {prev_lookup, [Key]} -> with_objects(Tab, prev, [Key]);
        _ -> erlang:apply(ets, Function, [Real | Rest])
    end.

%% A key that is found by a step, with what is under it.
with_objects(#tab{real = Real} = Tab, Step, Rest) ->
    case perform(Tab, Step, Rest) of
        '$end_of_table' -> '$end_of_table';
        Key -> {Key, ets:lookup(Real, Key)}
    end.

%% A key that has been deleted is still a place from which to go on.
after_key(Key, Keys, IsAfter) ->
    case lists:dropwhile(fun(Other) -> Other =/= Key end, Keys) of
        [_ | Rest] -> Rest;
        [] -> lists:filter(IsAfter, Keys)
    end.

chunk([], _) -> '$end_of_table';
chunk(List, Most) when length(List) =< Most -> {List, '$end_of_table'};
chunk(List, Most) ->
    {Some, Rest} = lists:split(Most, List),
    {Some, {'$raddle_rest', Rest, Most}}.

touches(Me, read, {key, Key}, _) -> reads_key(Me, Key);
touches(Me, write, {key, Key}, _) -> writes_key(Me, Key);
touches(Me, write, {object, Object}, #tab{keypos = Keypos}) when tuple_size(Object) >= Keypos ->
    writes_key(Me, element(Keypos, Object));
touches(Me, read, _, _) -> reads_all(Me);
touches(Me, write, _, _) -> writes_all(Me).

%% How a function touches the table that is its first argument.
access(lookup, [_, Key]) -> {key, read, Key};
access(member, [_, Key]) -> {key, read, Key};
access(lookup_element, [_, Key | _]) -> {key, read, Key};
access(delete, [_, Key]) -> {key, write, Key};
access(take, [_, Key]) -> {key, write, Key};
access(update_counter, [_, Key | _]) -> {key, write, Key};
access(update_element, [_, Key | _]) -> {key, write, Key};
access(insert, [_, [Object]]) -> {object, Object};
access(insert, [_, Object]) when is_tuple(Object) -> {object, Object};
access(insert_new, [_, [Object]]) -> {object, Object};
access(insert_new, [_, Object]) when is_tuple(Object) -> {object, Object};
access(delete_object, [_, Object]) -> {object, Object};
access(Function, Arguments) when Function =:= first_lookup; Function =:= last_lookup; Function =:= next_lookup; Function =:= prev_lookup ->
    case erlang:function_exported(ets, Function, length(Arguments)) of
        true -> {all, read};
        false -> erlang:error(undef) % Before OTP 27.
    end;
access(Function, [_ | _] = Arguments) ->
    Arity = length(Arguments),
    Known = fun(List) -> lists:member({Function, Arity}, List) end,
    case Known([{first, 1}, {last, 1}, {next, 2}, {prev, 2}, {slot, 2}, {tab2list, 1}, {match, 2}, {match, 3},
                {match_object, 2}, {match_object, 3}, {select, 2}, {select, 3}, {select_count, 2},
                {select_reverse, 2}, {select_reverse, 3}]) of
        true -> {all, read};
        false ->
            case Known([{insert, 2}, {insert_new, 2}, {delete_all_objects, 1}, {match_delete, 2}, {select_delete, 2},
                        {select_replace, 2}]) of
                true -> {all, write};
                false ->
                    case Known([{match_spec_compile, 1}, {match_spec_run, 2}, {is_compiled_ms, 1}, {test_ms, 2},
                                {repair_continuation, 2}, {fun2ms, 1}]) of
                        true -> pure;
                        false -> case Known([{select, 1}, {match, 1}, {match_object, 1}, {select_reverse, 1}]) of true -> continued; false -> refused end
                    end
            end
    end;
access(_, _) -> refused.

may_read(#me{pid = Pid}, #tab{rights = private, owner = Owner}) when Owner =/= Pid -> erlang:error(badarg);
may_read(_, Tab) -> Tab.

may_write(#me{pid = Pid}, #tab{rights = Rights, owner = Owner}) when Rights =/= public, Owner =/= Pid -> erlang:error(badarg);
may_write(_, Tab) -> Tab.

%% That there is another table.
tables(Me) -> ?READS(raddle_turn:roll(Me, tables)).

new(#me{table = Table, pid = Pid} = Me, Name, Options, Place) ->
    Named = lists:member(named_table, Options),
    case Named of
        true -> raddle_turn:step(Me, ?UPDATE, Place, ?WRITES(name(Me, Name)), ?WRITES(content(Me, #tab{key = key(Me, Name)})), tables(Me));
        false -> raddle_turn:known(Me, Place, tables(Me))
    end,
    Named andalso look(Me, Name) =/= none andalso erlang:error(badarg),
    Ours = fun(Option) ->
               lists:member(Option, [named_table, public, protected, private])
                   orelse is_tuple(Option) andalso element(1, Option) =:= heir
           end,
    %% Whoever waits for the end of the run inherits the real table, so that it does not go before the virtual one.
    Controller = raddle_table:find(Table, controller, none),
    Real = ets:new(Name, [public, {heir, Controller, none} | [Option || Option <- Options, not Ours(Option)]]),
    Id = case Named of true -> Name; false -> raddle_table:reference(Me) end,
    Tab = #tab{key = key(Me, Id), real = Real, owner = Pid, name = Name,
               rights = rights(Options),
               keypos = ets:info(Real, keypos),
               ordered = ets:info(Real, type) =:= ordered_set,
               heir = case lists:keyfind(heir, 1, Options) of
                          {heir, Heir, Data} when is_pid(Heir) -> {Heir, Data};
                          _ -> none
                      end},
    store(Me, Tab),
    note_owner(Table, Pid, Tab#tab.key),
    Id.

%% The last word on rights counts.
rights(Options) -> lists:foldl(fun(Option, Rights) ->
                                   case lists:member(Option, [public, protected, private]) of
                                       true -> Option;
                                       false -> Rights
                                   end
                               end, protected, Options).

info(Id, Touches, Place) ->
    #me{table = Table, pid = Pid} = Me = raddle_turn:me(),
    case look(Me, Id) of
        #tab{rights = private, owner = Owner} when Owner =/= Pid ->
            %% The owner changes the content without an operation, as part of its latest one.
            {Mailbox, Life} = raddle_table:objects(Table, Owner),
            Private = fun(#tab{rights = private, owner = Same} = Tab) when Same =:= Owner -> {?WRITES(content(Me, Tab)), ?WRITES(Life)};
                         (Tab) -> (Touches(Me))(Tab)
                      end,
            visit(Me, Id, Place, ?READ, Private, ?WRITES(Mailbox));
        _ -> visit(Me, Id, Place, ?READ, Touches(Me), ?NONE)
    end.

item(#tab{owner = Owner}, owner, _) -> Owner;
item(#tab{name = Name}, name, _) -> Name;
item(#tab{rights = Rights}, protection, _) -> Rights;
item(#tab{heir = {Heir, _}}, heir, _) -> Heir;
item(_, heir, _) -> none;
item(Tab, id, _) -> id(Tab);
item(#tab{key = {table, {_, _}}}, named_table, _) -> true;
item(_, named_table, _) -> false;
item(_, _, Value) -> Value.
