%% ETS tables. An access to one key is an operation on that key, and one that reads the whole table depends on
%% all writes to it. A private table is unobservable, so its accesses are not operations.
%%
%% Objects: the keys, `content` (read by writes of one key) and `structure` (read by reads of one key). A read
%% of the whole table writes `content`, a change of the whole table writes both. So reads of keys and reads of
%% the table are independent of each other; two reads of the table count as dependent, which costs schedules
%% and misses none. The structure of a named table is its name, which outlives the table: creating and
%% deleting it are changes of the whole table.
%%
%% The table and the touches of an operation are determined before the operation, and again when it is
%% executed. If they differ, the operation was only a read.
-module(raddle_ets).
-export([call/3, owned/2, end_touches/3, owner_died/4, node_died/2, clear/1]).
-include("raddle_run.hrl").

-record(tab, {key, real, owner, rights, keypos, name, heir = none, ordered}).

%% ---- which table

key(#me{node = Node}, Name) when is_atom(Name) -> {table, {Node, Name}};
key(_, Reference) -> {table, Reference}.

look(#me{table = Table} = Me, Id) -> raddle_table:find(Table, key(Me, Id), none).

store(#me{table = Table}, #tab{key = Key} = Tab) -> ets:insert(Table, {table, Key, Tab}).

%% Returns the table after an operation with these touches; badarg if there is none by then.
at(Me, Id, Location, Kind, Touches) -> at(Me, Id, Location, Kind, Touches, ?NONE).
at(Me, Id, Location, Kind, Touches, Third) ->
    case visit(Me, Id, Location, Kind, Touches, Third) of
        none -> erlang:error(badarg);
        Tab -> Tab
    end.

%% The same; none if there is no table by then. The owner's accesses to a private table are unobservable.
visit(Me, Id, Location, Kind, Touches, Third) ->
    case look(Me, Id) of
        none when is_atom(Id) ->
            raddle_turn:step(Me, ?READ, Location, ?READS(name(Me, Id))),
            case look(Me, Id) of
                none -> none;
                _ -> visit(Me, Id, Location, Kind, Touches, Third)
            end;
        none ->
            is_reference(Id) andalso raddle_turn:known(Me, Location, ?READS(structure(Me, #tab{key = key(Me, Id)}))),
            none;
        Tab ->
            case Touches(Tab) of
                unobservable -> Tab;
                {First, Second} ->
                    raddle_turn:step(Me, Kind, Location, First, Second, Third),
                    case look(Me, Id) of
                        none -> none;
                        Now ->
                            case Touches(Now) of
                                {First, Second} -> Now;
                                _ -> visit(Me, Id, Location, Kind, Touches, Third)
                            end
                    end
            end
    end.

%% Returns the touches of an access to a table.
shown(#me{pid = Pid}, #tab{rights = private, owner = Pid}, _) -> unobservable;
shown(Me, #tab{rights = private} = Tab, _) -> {?WRITES(content(Me, Tab)), ?READS(structure(Me, Tab))}; % The owner matters.
shown(#me{life = Life}, _, {First, ?NONE}) -> {First, ?READS(Life)};
shown(_, _, Touches) -> Touches.

name(#me{node = Node} = Me, Name) -> raddle_table:object(Me, {ets_name, Node, Name}).
content(Me, #tab{key = Key}) -> raddle_table:object(Me, {content, Key}).
structure(Me, #tab{key = {table, {Node, Name}}}) -> raddle_table:object(Me, {ets_name, Node, Name});
structure(Me, #tab{key = Key}) -> raddle_table:object(Me, {structure, Key}).
entry(Me, #tab{key = Key, ordered = Ordered}, Term) ->
    %% An ordered set treats 1 and 1.0 as the same key.
    Same = if
               Ordered, is_float(Term), trunc(Term) == Term -> trunc(Term);
               true -> Term
           end,
    raddle_table:object(Me, {entry, Key, Same}).

reads_key(Me, Key) -> fun(Tab) -> shown(Me, Tab, {?READS(entry(Me, Tab, Key)), ?READS(structure(Me, Tab))}) end.
writes_key(Me, Key) -> fun(Tab) -> shown(Me, Tab, {?WRITES(entry(Me, Tab, Key)), ?READS(content(Me, Tab))}) end.
reads_all(Me) -> fun(Tab) -> shown(Me, Tab, {?WRITES(content(Me, Tab)), ?NONE}) end.
writes_all(Me) -> fun(Tab) -> shown(Me, Tab, {?WRITES(content(Me, Tab)), ?WRITES(structure(Me, Tab))}) end.

%% The end of a table, which others observe even if it is private.
ends(Me) -> fun(Tab) -> {?WRITES(content(Me, Tab)), ?WRITES(structure(Me, Tab))} end.

%% Returns the touches of the end of a table, for the death of its owner: whether there is an heir, and if
%% not, the whole table.
end_touches(#me{table = Table} = Me, Key, Stage) ->
    case {raddle_table:find(Table, Key, none), Stage} of
        {none, _} -> {First, Second} = (ends(Me))(#tab{key = Key}), {?WRITE, First, Second};
        {#tab{heir = {Heir, _}} = Tab, table} ->
            Life = case raddle_table:objects(Table, Heir) of {_, Known} -> ?READS(Known); none -> ?NONE end,
            {?WRITE, ?WRITES(content(Me, Tab)), Life};
        {Tab, _} -> {First, Second} = (ends(Me))(Tab), {?WRITE, First, Second}
    end.

%% Returns the next action for the table.
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

%% A node's tables end with it.
node_died(#me{table = Table} = Me, Node) ->
    [drop(Me, Tab) || [#tab{owner = Owner} = Tab] <- ets:match(Table, {table, '_', '$1'}), erlang:node(Owner) =:= Node],
    ok.

%% Deletes the real tables of a completed run.
clear(Table) ->
    [catch ets:delete(Real) || [#tab{real = Real}] <- ets:match(Table, {table, '_', '$1'})],
    ok.

drop(#me{table = Table}, #tab{key = Key, real = Real, owner = Owner}) ->
    ets:delete(Table, Key),
    raddle_table:put_list(Table, {tables, Owner}, lists:delete(Key, raddle_table:list(Table, {tables, Owner}))),
    ets:delete(Real).

%% Moves a table to another owner.
own(#me{table = Table} = Me, #tab{key = Key, owner = From} = Tab, To) ->
    store(Me, Tab#tab{owner = To}),
    raddle_table:put_list(Table, {tables, From}, lists:delete(Key, raddle_table:list(Table, {tables, From}))),
    note_owner(Table, To, Key).

note_owner(Table, Pid, Key) ->
    ets:insert(Table, {list, {tables, Pid}, [Key | raddle_table:list(Table, {tables, Pid})]}),
    Ever = raddle_table:list(Table, {ever_owned, Pid}),
    lists:member(Key, Ever) orelse ets:insert(Table, {list, {ever_owned, Pid}, [Key | Ever]}).

%% Returns the tables that end with a process. For a search, the earlier deletion of one is an operation of
%% its own: it might have come later.
owned(#me{table = Table, searches = true}, Pid) -> raddle_table:list(Table, {ever_owned, Pid});
owned(#me{table = Table}, Pid) -> raddle_table:list(Table, {tables, Pid}).

id(#tab{key = {table, {_, Name}}}) -> Name;
id(#tab{key = {table, Reference}}) -> Reference.

%% ---- the functions of ets

call(new, [Name, Options], Location) when is_atom(Name), is_list(Options) -> new(raddle_turn:me(), Name, Options, Location);
call(whereis, [Name], Location) ->
    Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?READS(name(Me, Name))),
    case look(Me, Name) of
        none -> undefined;
        _ -> raddle_turn:refuse({ets, whereis, 1}, [Name], Location)
    end;
call(all, [], Location) ->
    #me{table = Table, node = Node} = Me = raddle_turn:me(),
    raddle_turn:step(Me, ?READ, Location, ?WRITES(raddle_turn:roll(Me, tables))),
    lists:sort([id(Tab) || [#tab{owner = Owner} = Tab] <- ets:match(Table, {table, '_', '$1'}), erlang:node(Owner) =:= Node]);
call(info, [Id], Location) ->
    case info(Id, fun reads_all/1, Location) of
        none -> undefined;
        Tab -> [{Item, item(Tab, Item, Value)} || {Item, Value} <- ets:info(Tab#tab.real)]
    end;
call(info, [Id, Item], Location) ->
    Touches = case lists:member(Item, [size, memory, owner, heir]) of
                  true -> fun reads_all/1;
                  false -> fun(Me) -> fun(Tab) -> shown(Me, Tab, {?READS(structure(Me, Tab)), ?NONE}) end end
              end,
    case info(Id, Touches, Location) of
        none -> undefined;
        Tab -> item(Tab, Item, ets:info(Tab#tab.real, Item))
    end;
call(delete, [Id], Location) ->
    Me = raddle_turn:me(),
    drop(Me, may_write(Me, at(Me, Id, Location, ?WRITE, ends(Me), tables(Me)))),
    true;
call(give_away, [Id, To, Data], Location) when is_pid(To) ->
    %% The owner and its rights are part of the content.
    #me{pid = Pid, table = Table} = Me = raddle_turn:me(),
    {Mailbox, Life} = case raddle_table:objects(Table, To) of none -> {?NONE, ?NONE}; {Mail, Own} -> {?WRITES(Mail), ?READS(Own)} end,
    Tab = at(Me, Id, Location, ?WRITE, fun(Known) -> {?WRITES(content(Me, Known)), Mailbox} end, Life),
    Alive = case raddle_table:process(Table, To) of #process{state = State} -> State =:= alive; none -> false end,
    Tab#tab.owner =:= Pid andalso To =/= Pid andalso Alive orelse erlang:error(badarg),
    own(Me, Tab, To),
    raddle_signal:post(Me, To, {'ETS-TRANSFER', id(Tab), Pid, Data}),
    true;
call(setopts, [Id, Option], Location) ->
    #me{pid = Pid} = Me = raddle_turn:me(),
    Tab = at(Me, Id, Location, ?WRITE, fun(Known) -> {?WRITES(content(Me, Known)), ?READS(Me#me.life)} end),
    Tab#tab.owner =:= Pid orelse erlang:error(badarg),
    case lists:flatten([Option]) of
        [{heir, To, Data}] when is_pid(To) -> store(Me, Tab#tab{heir = {To, Data}});
        [{heir, none}] -> store(Me, Tab#tab{heir = none});
        _ -> erlang:error(badarg)
    end;
call(rename, [Id, Name], Location) -> raddle_turn:refuse({ets, rename, 2}, [Id, Name], Location);
call(safe_fixtable, [Id, Fix], Location) when is_boolean(Fix) ->
    Me = raddle_turn:me(),
    _ = at(Me, Id, Location, ?READ, fun(Tab) -> shown(Me, Tab, {?READS(structure(Me, Tab)), ?NONE}) end),
    true;
call(init_table, [Id, Fun], Location) when is_function(Fun, 1) ->
    %% The function may execute operations between its results.
    call(delete_all_objects, [Id], Location),
    fill(Id, Fun, Location);
call(Fold, [Fun, Start, Id], Location) when Fold =:= foldl; Fold =:= foldr ->
    %% One read of the whole table; the function may then execute operations.
    Me = raddle_turn:me(),
    Tab = may_read(Me, at(Me, Id, Location, ?READ, reads_all(Me))),
    lists:Fold(Fun, Start, perform(Tab, tab2list, []));
call(Function, Arguments, Location) ->
    case access(Function, Arguments) of
        pure when Function =:= repair_continuation, element(1, hd(Arguments)) =:= '$raddle_rest' -> hd(Arguments);
        pure -> erlang:apply(ets, Function, Arguments);
        continued ->
            %% The rest of a traversal. An ordered table is read again.
            Me = raddle_turn:me(),
            case Arguments of
                [{'$raddle_rest', Rest, Most}] ->
                    raddle_turn:step(Me, ?YIELD, Location, ?NONE),
                    chunk(Rest, Most);
                [Continuation] ->
                    Content = case is_tuple(Continuation) andalso ets:match(Me#me.table, {table, '_', #tab{real = element(1, Continuation), key = '$1', _ = '_'}}) of
                                  [[Key]] -> ?WRITES(content(Me, #tab{key = Key}));
                                  _ -> ?NONE
                              end,
                    raddle_turn:step(Me, ?READ, Location, Content),
                    erlang:apply(ets, Function, Arguments)
            end;
        {key, Way, Term} -> access(Function, Arguments, Way, {key, Term}, Location);
        {object, Object} when is_tuple(Object) -> access(Function, Arguments, write, {object, Object}, Location);
        {all, Way} -> access(Function, Arguments, Way, all, Location);
        _ -> raddle_turn:refuse({ets, Function, length(Arguments)}, Arguments, Location)
    end.

fill(Id, Fun, Location) ->
    case Fun(read) of
        end_of_input -> true;
        {Objects, Next} when is_list(Objects), is_function(Next, 1) ->
            call(insert, [Id, Objects], Location),
            fill(Id, Next, Location);
        _ -> erlang:error(badarg)
    end.

access(Function, [Id | Rest], Way, What, Location) ->
    Me = raddle_turn:me(),
    Touches = fun(Tab) -> (touches(Me, Way, What, Tab))(Tab) end,
    Tab = at(Me, Id, Location, case Way of read -> ?READ; write -> ?WRITE end, Touches),
    case Way of
        read -> may_read(Me, Tab);
        write -> may_write(Me, Tab)
    end,
    perform(Tab, Function, Rest).

%% Calls the function on the real table. An unordered table is traversed in the order of terms, because the
%% host's order depends on its atom table.
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

%% Returns the key found by a step, with its objects.
with_objects(#tab{real = Real} = Tab, Step, Rest) ->
    case perform(Tab, Step, Rest) of
        '$end_of_table' -> '$end_of_table';
        Key -> {Key, ets:lookup(Real, Key)}
    end.

%% A deleted key is still a valid position to continue from.
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

%% Returns the access of a function to the table that is its first argument.
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

%% The existence of another table.
tables(Me) -> ?READS(raddle_turn:roll(Me, tables)).

new(#me{table = Table, pid = Pid} = Me, Name, Options, Location) ->
    Named = lists:member(named_table, Options),
    case Named of
        true -> raddle_turn:step(Me, ?UPDATE, Location, ?WRITES(name(Me, Name)), ?WRITES(content(Me, #tab{key = key(Me, Name)})), tables(Me));
        false -> raddle_turn:known(Me, Location, tables(Me))
    end,
    Named andalso look(Me, Name) =/= none andalso erlang:error(badarg),
    Ours = fun(Option) ->
               lists:member(Option, [named_table, public, protected, private])
                   orelse is_tuple(Option) andalso element(1, Option) =:= heir
           end,
    %% The process that waits for the end of the run inherits the real table, so that it does not end before
    %% the virtual one.
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

%% The last option decides.
rights(Options) -> lists:foldl(fun(Option, Rights) ->
                                   case lists:member(Option, [public, protected, private]) of
                                       true -> Option;
                                       false -> Rights
                                   end
                               end, protected, Options).

info(Id, Touches, Location) ->
    #me{table = Table, pid = Pid} = Me = raddle_turn:me(),
    case look(Me, Id) of
        #tab{rights = private, owner = Owner} when Owner =/= Pid ->
            %% The owner changes the content without an operation, as part of its latest one.
            {Mailbox, Life} = raddle_table:objects(Table, Owner),
            Private = fun(#tab{rights = private, owner = Same} = Tab) when Same =:= Owner -> {?WRITES(content(Me, Tab)), ?WRITES(Life)};
                         (Tab) -> (Touches(Me))(Tab)
                      end,
            visit(Me, Id, Location, ?READ, Private, ?WRITES(Mailbox));
        _ -> visit(Me, Id, Location, ?READ, Touches(Me), ?NONE)
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
