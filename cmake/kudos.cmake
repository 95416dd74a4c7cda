# One target a folder, so that a dependency in the wrong direction doesn't link.

add_library(kudos_flags INTERFACE)
target_include_directories(kudos_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(kudos_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow=local -Wno-sign-conversion -Wno-missing-designated-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(kudos_flags INTERFACE -Wno-unknown-warning-option)
endif()

# kudos_library(base DEPENDS …): src/base as library kudos_base; its *_test.cc become the test program base_test.
function(kudos_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;EXTRA_SOURCES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(kudos_${name} STATIC ${sources} ${ARG_EXTRA_SOURCES})
  target_link_libraries(kudos_${name} PUBLIC $<BUILD_INTERFACE:kudos_flags> ${ARG_DEPENDS})
  if(tests AND KUDOS_BUILD_TESTS)
    kudos_test(${name}_test SOURCES ${tests} DEPENDS kudos_${name})
  endif()
endfunction()

# A GoogleTest program; every test becomes a ctest entry named program.Suite.Test.
function(kudos_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300
    ENVIRONMENT KUDOS_SHARED_DATA=${PROJECT_SOURCE_DIR}/../shared/data)
endfunction()

# A GoogleTest program that is one ctest entry: its tests share a server, which takes a second or two to start.
function(kudos_program_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  add_dependencies(${name} kudos)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900
    ENVIRONMENT "KUDOS_BINARY=$<TARGET_FILE:kudos>;KUDOS_SHARED_DATA=${PROJECT_SOURCE_DIR}/../shared/data")
endfunction()

# Writes a C++ source that holds every *.sql file of `directory` as a string, in the order of their names.
function(kudos_embed_sql output symbol directory)
  file(GLOB files CONFIGURE_DEPENDS ${directory}/*.sql)
  list(SORT files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} "-DFILES=${files}" -P
            ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake
    VERBATIM)
endfunction()
