# `cpack -G DEB` in the build directory: `kudos` (the program) and `kudos-dev` (the library for embedding).

set(CPACK_PACKAGE_NAME kudos)
set(CPACK_PACKAGE_VENDOR Kudos)
set(CPACK_PACKAGE_CONTACT "The Kudos developers <kudos@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Exact credit accounting on PostgreSQL")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME kudos)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The program for operators and scripts: ledger, projector, reports.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION admin)
# `kudos up` starts a PostgreSQL of its own; everything else works with a database elsewhere.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "postgresql-15 | postgresql")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME kudos-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C++23 library: headers, archives, CMake package, pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libpq-dev, libssl-dev, libfmt-dev, libboost-json${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS kudos)

include(CPack)
