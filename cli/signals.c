/* The wish that a long job end. */
#include <signal.h>
#include <string.h>

#include "command.h"

static volatile sig_atomic_t signals_number;

static void signals_note(int number)
{
    signals_number = number;
}

void cli_watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;

    memset(&action, 0, sizeof action);
    action.sa_handler = signals_note;
    action.sa_flags = (int)SA_RESETHAND;                            /* the second one ends the process at once */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) /* what nohup and the shell ignore stays ignored */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file too large is an error, after which there is something to clean up */
}

bool cli_is_interrupted(void)
{
    return signals_number != 0;
}

int cli_interrupted(void)
{
    return 128 + signals_number;
}
