%% Two withdrawals from an account that has enough for one.
-module(account).
-export([two_withdrawals/0]).

two_withdrawals() ->
    Account = ets:new(account, [public]),
    ets:insert(Account, {balance, 100}),
    Test = self(),
    [spawn(fun() -> withdraw(Account, 60), Test ! done end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    [{balance, Left}] = ets:lookup(Account, balance),
    true = Left >= 0.

withdraw(Account, Amount) ->
    case ets:lookup(Account, balance) of
        [{balance, Balance}] when Balance >= Amount ->
            %% The balance may have changed since the check.
            ets:update_counter(Account, balance, -Amount);
        _ ->
            refused
    end.
