#include "surfaces_test.h"
